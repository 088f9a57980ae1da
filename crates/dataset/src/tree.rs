//! Trees of criteria: each node has a list of the nodes below it, and those where it is empty are the criteria.
//!
//! A criterion's weight is the product of the shares of its siblings' weights on its path, so that the sum over all criteria is
//! the mean of means up to the root. A node below the root is a tag of its criteria, named by its place: `CASE 1.2`.

use std::sync::Arc;

use serde_json::Value;

use super::case_criteria::{CriteriaReader, TOO_LARGE, names_of};
use super::paths::{Match, at_place};
use super::reader::expected;
use scholareval_core::domain::CaseCriterion;
use scholareval_core::text::names::list as list_of_names;

/// A node of a tree.
struct Node {
    /// Its groups are the numbers of the nodes above it but the root.
    at: Match,
    /// Its number among its siblings, from 1, behind those of the nodes above it: `1.2`; of the root empty.
    number: String,
    /// Its share of the root.
    share: f64,
    /// The texts of the nodes above it, if the judge sees them.
    texts: Vec<Arc<str>>,
}

impl CriteriaReader<'_> {
    /// The leaves of the tree of a case as criteria, and which nodes have no weight below them.
    pub(super) fn leaves(
        &self,
        case_id: &str,
        fields: &Value,
    ) -> Result<(Vec<CaseCriterion>, Vec<String>), String> {
        let (leaves, weightless) = self.tree(fields)?;
        let mut criteria = Vec::with_capacity(leaves.len());
        for mut leaf in leaves {
            for number in &mut leaf.at.groups {
                *number = CaseCriterion::node_tag(case_id, number);
            }
            let criterion = self.criterion_at(&leaf.at, criteria.len() + 1)?;
            let tags = self.tags(&self.paths.criterion_tags, &leaf.at.value)?;
            if let Some(tag) = tags
                .iter()
                .find(|tag| CaseCriterion::number_of_node(case_id, tag).is_some())
            {
                let fault = format!("the tag {} is the name of a node", tag.escape_debug());
                return Err(at_place(&leaf.at.place, &fault));
            }
            criteria.push(CaseCriterion {
                weight: leaf.share,
                nodes_above: leaf.texts,
                ..criterion
            });
        }
        Ok((criteria, weightless))
    }

    /// The values of the leaves.
    pub(super) fn leaf_values(&self, fields: &Value) -> Result<Vec<Match>, String> {
        let (leaves, _) = self.tree(fields)?;
        Ok(leaves.into_iter().map(|leaf| leaf.at).collect())
    }

    /// The leaves in the order of the file, and which nodes have no weight below them.
    fn tree(&self, fields: &Value) -> Result<(Vec<Node>, Vec<String>), String> {
        let path = &self.paths.criteria;
        let mut roots = path.matches(fields)?.all;
        let root = match roots.pop() {
            Some(root) if roots.is_empty() => root,
            Some(_) => return Err(format!("{path} leads to several trees; a case has one")),
            None => return Err(format!("{path} is missing")),
        };
        let (mut leaves, mut weightless) = (Vec::new(), Vec::new());
        // Open nodes, the next one last.
        let mut open = vec![Node {
            at: root,
            number: String::new(),
            share: 1.0,
            texts: Vec::new(),
        }];
        open.retain(|root| self.is_counted(&root.at.value));
        while let Some(node) = open.pop() {
            let list = self.children_of(&node.at.value);
            let list = list.map_err(|fault| at_place(&node.at.place, &fault))?;
            if list.is_empty() {
                leaves.push(node);
                continue;
            }
            let checked = self.check_untagged(&node);
            checked.map_err(|fault| at_place(&node.at.place, &fault))?;
            let (children, sum) = self.nodes_below(&node, list)?;
            if sum == 0.0 && node.share > 0.0 {
                weightless.push(match &*node.number {
                    "" => "no node below the root has a weight".to_owned(),
                    number => format!("no node below node {number} has a weight"),
                });
            }
            open.extend(children.into_iter().rev());
        }
        if leaves.is_empty() {
            let only = self.profile.criterion.only.iter().map(String::as_str);
            let tags = list_of_names(only, usize::MAX);
            return Err(format!(
                "{path}: no criterion has a tag of criterion.only ({tags})"
            ));
        }
        Ok((leaves, weightless))
    }

    fn children_of(&self, node: &Value) -> Result<Vec<Value>, String> {
        let path = &self.paths.children;
        match path.value(node)? {
            Some(Value::Array(list)) => Ok(list),
            Some(other) => Err(format!("{path}: {}", expected("a list", &other))),
            None if !node.is_object() => Err(expected("an object", node)),
            None => Err(format!(
                "{path} is missing, which is an empty list in a criterion; found {}",
                names_of(node)
            )),
        }
    }

    /// Whether a node has a criterion that counts below it, or is one. What cannot be read counts, and is a fault where it is read.
    fn is_counted(&self, node: &Value) -> bool {
        let only = &self.profile.criterion.only;
        if only.is_empty() {
            return true;
        }
        match self.children_of(node) {
            Ok(children) if children.is_empty() => {
                let tags = self.tags(&self.paths.criterion_tags, node);
                tags.map_or(true, |tags| tags.iter().any(|tag| only.contains(tag)))
            }
            Ok(children) => children.iter().any(|child| self.is_counted(child)),
            Err(_) => true,
        }
    }

    /// Refuses a node with a tag, which would mean none of the criteria below it.
    fn check_untagged(&self, node: &Node) -> Result<(), String> {
        let path = &self.paths.criterion_tags;
        let is_of_case = node.number.is_empty() && self.paths.tags.contains(path);
        if is_of_case || self.tags(path, &node.at.value)?.is_empty() {
            return Ok(());
        }
        Err(format!(
            "{path}: only a criterion, which has no nodes below it, has tags"
        ))
    }

    /// The nodes below a node, and the sum of their weights.
    fn nodes_below(&self, node: &Node, list: Vec<Value>) -> Result<(Vec<Node>, f64), String> {
        let mut groups = node.at.groups.clone();
        groups.extend(Some(node.number.clone()).filter(|number| !number.is_empty()));
        let mut texts = node.texts.clone();
        if self.profile.shows_path() {
            let text = self.text(&node.at.value);
            texts.push(
                text.map_err(|fault| at_place(&node.at.place, &fault))?
                    .into(),
            );
        }
        let below = |place: &str, step: String| match place {
            "" => step,
            place => format!("{place}.{step}"),
        };
        let mut nodes = Vec::with_capacity(list.len());
        let mut sum = 0.0;
        for (index, value) in list.into_iter().enumerate() {
            if !self.is_counted(&value) {
                continue;
            }
            let place = below(&node.at.place, format!("{}[{index}]", self.paths.children));
            let weight = self
                .weight(&value)
                .map_err(|fault| at_place(&place, &fault))?;
            if weight < 0.0 {
                let fault = format!("the weight {weight} is below 0, which a tree cannot have");
                return Err(at_place(&place, &fault));
            }
            sum += weight;
            nodes.push(Node {
                at: Match {
                    value,
                    groups: groups.clone(),
                    place,
                },
                number: below(&node.number, (index + 1).to_string()),
                share: weight,
                texts: texts.clone(),
            });
        }
        if !sum.is_finite() {
            return Err(at_place(&node.at.place, TOO_LARGE));
        }
        for child in &mut nodes {
            // Where nothing has a weight, nothing counts.
            let share = if sum > 0.0 { child.share / sum } else { 0.0 };
            child.share = node.share * share;
        }
        Ok((nodes, sum))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{TestCases, load_tests};
    use scholareval_core::domain::Mode;
    use scholareval_core::error::Result;
    use serde_json::json;

    /// Reads a tree from a file in `made/` by PaperBench's profile, or by a profile of the user's with these keys.
    fn tree(file: &str, tree: &Value, keys: Option<&str>) -> Result<TestCases> {
        let dir = tempfile::tempdir().unwrap();
        let made = dir.path().join("made");
        std::fs::create_dir(&made).unwrap();
        std::fs::write(made.join(file), tree.to_string()).unwrap();
        let Some(keys) = keys else {
            return Ok(load_tests(&made.join(file), Mode::Default, Some("paperbench"), false)?.0);
        };
        let profile = format!(
            "name = \"mine\"\nabout = \"a\"\n{keys}\n[reply]\nlevels = [{{ level = 1, credit = 1, means = \"\" }}, \
             {{ level = 0, credit = 0, means = \"\" }}]"
        );
        std::fs::write(made.join("profile.toml"), profile).unwrap();
        let rubric = made.to_str();
        Ok(load_tests(&made.join(file), Mode::Default, rubric, false)?.0)
    }

    fn node(id: &str, weight: impl Into<Value>, children: Value) -> Value {
        json!({"id": id, "requirements": format!("made {id}"), "weight": weight.into(), "sub_tasks": children})
    }

    fn leaf(id: &str, weight: impl Into<Value>) -> Value {
        let mut leaf = node(id, weight, json!([]));
        leaf["task_category"] = "Code Development".into();
        leaf
    }

    /// A chain of so many nodes with a leaf below.
    fn chain(nodes: usize) -> Value {
        (0..nodes).fold(leaf("a", 1), |below, _| node("x", 1, json!([below])))
    }

    fn fault(root: &Value, keys: Option<&str>) -> String {
        tree("rubric.json", root, keys).unwrap_err().to_string()
    }

    #[test]
    fn leaves_have_the_shares_of_their_path_and_the_tags_of_their_nodes() {
        let inner = node("x", 3, json!([leaf("a", 1), leaf("b", 4)]));
        let weightless = node("y", 1, json!([leaf("a", 0)]));
        let root = node("r", 9, json!([inner, weightless, leaf("c", 1)]));
        let tests = tree("rubric.json", &root, None).unwrap();
        let case = &tests.cases[0];
        assert_eq!(case.case_id.as_str(), "made");
        let leaves = case.criteria.iter().map(|leaf| (&*leaf.name, leaf.weight));
        assert_eq!(
            Vec::from_iter(leaves),
            [
                ("a", 0.6 * 0.2),
                ("b", 0.6 * 0.8),
                ("a (2)", 0.0),
                ("c", 0.2)
            ]
        );
        assert_eq!(case.criteria[0].tags, ["Code Development", "made 1"]);
        assert_eq!(case.criteria[3].tags, ["Code Development"]);
        let above = case.criteria[0].nodes_above.iter().map(|text| &**text);
        assert_eq!(Vec::from_iter(above), ["made r", "made x"]);
        let warnings: Vec<String> = tests.warnings.iter().map(ToString::to_string).collect();
        assert!(
            warnings[0].contains("(case made): no node below node 2 has a weight"),
            "{warnings:?}"
        );
        assert!(warnings[1].contains("a shares the name a"), "{warnings:?}");
        let in_lines = tree("rows.jsonl", &root, None).unwrap();
        assert_eq!(in_lines.cases[0].case_id.as_str(), "r");
    }

    #[test]
    fn criteria_of_other_tags_go_and_so_do_nodes_without_any_left() {
        let other = |id: &str, weight| {
            let mut leaf = leaf(id, weight);
            leaf["task_category"] = "Result Analysis".into();
            leaf
        };
        let empty = node("y", 5, json!([other("c", 1)]));
        let mixed = node("x", 1, json!([other("d", 7), leaf("a", 1), leaf("b", 3)]));
        let root = node("r", 1, json!([empty, mixed, leaf("e", 1)]));
        let keys = "[case]\nid = \"id\"\nquestion = \"requirements\"\ncriteria = \".\"\n[criterion]\ntext = \"requirements\"\n\
                    children = \"sub_tasks\"\ntags = \"task_category\"\nonly = [\"Code Development\"]";
        let case = &tree("rows.jsonl", &root, Some(keys)).unwrap().cases[0];
        let leaves = case.criteria.iter();
        let leaves =
            leaves.map(|leaf| (&*leaf.name, leaf.weight, leaf.tags.last().unwrap().as_str()));
        assert_eq!(
            Vec::from_iter(leaves),
            [
                ("a", 0.5 * 0.25, "r 2"),
                ("b", 0.5 * 0.75, "r 2"),
                ("e", 0.5, "Code Development")
            ]
        );
        let none = node("r", 1, json!([other("c", 1)]));
        let error = tree("rows.jsonl", &none, Some(keys))
            .unwrap_err()
            .to_string();
        assert!(
            error.contains("no criterion has a tag of criterion.only (Code Development)"),
            "{error}"
        );
    }

    #[test]
    fn faults_have_their_place() {
        let faults = [
            (leaf("a", -1), "the weight -1 is below 0"),
            (node("a", 1, Value::Null), "sub_tasks: expected a list"),
            (
                json!({"weight": 1}),
                "sub_tasks is missing, which is an empty list in a criterion; found weight",
            ),
            (leaf("a", Value::Null), "weight is missing"),
            (node("a", 1, json!([])), "task_category is missing"),
            (leaf("a", "heavy"), "weight: expected a number"),
            (json!("text"), "weight is missing"),
            (
                json!({"weight": 1, "sub_tasks": []}),
                "requirements is missing",
            ),
        ];
        for (leaf, expected) in faults {
            let error = fault(&node("r", 1, json!([node("x", 1, json!([leaf]))])), None);
            let expected =
                format!("rubric.json:1 (case made): sub_tasks[0].sub_tasks[0]: {expected}");
            assert!(error.contains(&expected), "{error}");
        }
        let mut tagged = chain(2);
        tagged["sub_tasks"][0]["task_category"] = "Code Development".into();
        let error = fault(&tagged, None);
        assert!(
            error.contains("sub_tasks[0]: task_category: only a criterion"),
            "{error}"
        );
        let deep = fault(&chain(100), None);
        assert!(
            deep.contains("rubric.json:1") && deep.contains("may have 127 lists and objects"),
            "{deep}"
        );
        let keys = "[case]\nid = \"id\"\nquestion = \"requirements\"\ncriteria = \".\"\n[criterion]\ntext = \"requirements\"\nchildren = ";
        for (children, expected) in [
            (
                "\"parts\"",
                "parts is missing, which is an empty list in a criterion; found id, requirements, ",
            ),
            ("\"sub_tasks\"\nweight = \"points\"", "no points"),
        ] {
            let error = fault(&chain(1), Some(&format!("{keys}{children}")));
            assert!(error.contains(expected), "{error}");
        }
        let rows =
            format!("{keys}\"sub_tasks\"").replace("[criterion]", "rows = true\n[criterion]");
        assert!(fault(&chain(1), Some(&rows)).contains("not for rows"));
    }

    #[test]
    fn deep_and_wide_trees_and_trees_in_texts_are_read() {
        let of = |root: &Value| {
            tree("rubric.json", root, None).unwrap().cases[0]
                .criteria
                .clone()
        };
        assert_eq!(of(&chain(60))[0].tags.len(), 60);
        let leaves = |count: usize| Value::from_iter((0..count).map(|at| leaf(&at.to_string(), 1)));
        assert_eq!(of(&node("r", 1, leaves(10_000))).len(), 10_000);
        let mut deep = leaves(10_000);
        for _ in 0..50 {
            deep = json!([node("x", 1, deep)]);
        }
        assert_eq!(of(&node("r", 1, deep)).len(), 10_000);
        // As many nodes as the largest tree of PaperBench: 1 + 50 x (1 + 50).
        let wide = (0..50).map(|at| node(&at.to_string(), 1, leaves(50)));
        assert_eq!(of(&node("r", 1, Value::from_iter(wide))).len(), 2_500);
        let inner = json!({"tree": chain(20)}).to_string();
        let case = json!({"id": 7, "q": "why", "rubric": json!({"inner": inner}).to_string()});
        let keys = "[case]\nid = \"id\"\nquestion = \"q\"\ncriteria = \"rubric:json.inner:json.tree\"\n[criterion]\n\
                    text = \"requirements\"\nchildren = \"sub_tasks\"";
        let tests = tree("rows.jsonl", &case, Some(keys)).unwrap();
        assert_eq!(
            tests.cases[0].criteria[0].tags[18],
            format!("7 1{}", ".1".repeat(18))
        );
    }
}
