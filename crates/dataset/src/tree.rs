//! Trees of criteria: each node has a list of the nodes below it, and those where it is empty are the criteria.
//!
//! A criterion's weight is the product of the shares of its siblings' weights on its path, so that the sum over all criteria is
//! the mean of means up to the root. A node below the root is a tag of its criteria, named by its place: `CASE 1.2`.

use std::borrow::Cow;
use std::sync::Arc;

use serde_json::Value;

use super::case_criteria::{CriteriaReader, TOO_LARGE, at_place};
use super::paths::{Match, within};
use super::reader::expected;
use scholareval_core::domain::CaseCriterion;

/// A node of a tree.
struct Node<'v> {
    value: &'v Value,
    /// Where it is, for messages.
    place: String,
    /// Its number among its siblings, from 1, behind those of the nodes above it: `1.2`; of the root empty.
    number: String,
    /// The index of the node above it.
    above: Option<usize>,
    /// Its share of the root.
    share: f64,
    is_leaf: bool,
}

impl CriteriaReader<'_> {
    /// The leaves of the tree of a case as criteria, and the nodes below which nothing has a weight.
    pub(super) fn leaves(
        &self,
        case_id: &str,
        fields: &Value,
    ) -> Result<(Vec<CaseCriterion>, Vec<String>), String> {
        let root = self.root(fields)?;
        let nodes = self.nodes(&root.value, &root.place)?;
        let texts = self.texts_of_nodes(&nodes)?;
        let mut criteria = Vec::new();
        for node in nodes.iter().filter(|node| node.is_leaf) {
            self.check_flat(node.value, &node.place)?;
            let criterion = self.criterion(node.value, criteria.len() + 1);
            let mut criterion = criterion.map_err(|what| at_place(&node.place, &what))?;
            criterion.weight = node.share;
            let mut tags = Vec::new();
            let mut above = node.above;
            while let Some(at) = above {
                if !nodes[at].number.is_empty() {
                    tags.push(format!("{case_id} {}", nodes[at].number));
                }
                if self.profile.shows_path() {
                    criterion.nodes_above.push(Arc::clone(&texts[at]));
                }
                above = nodes[at].above;
            }
            criterion.nodes_above.reverse();
            criterion.tags.retain(|tag| !tags.contains(tag));
            criterion.tags.extend(tags.into_iter().rev());
            criteria.push(criterion);
        }
        Ok((criteria, without_weight(&nodes)))
    }

    /// The values of the leaves, without their places in the tree.
    pub(super) fn leaf_values<'v>(&self, fields: &'v Value) -> Result<Vec<Match<'v>>, String> {
        let root = self.root(fields)?;
        let mut leaves = Vec::new();
        for node in self.nodes(&root.value, &root.place)? {
            if node.is_leaf {
                leaves.push(Match {
                    value: Cow::Owned(node.value.clone()),
                    groups: Vec::new(),
                    place: node.place,
                });
            }
        }
        Ok(leaves)
    }

    /// The root of the tree of a case.
    fn root<'v>(&self, fields: &'v Value) -> Result<Match<'v>, String> {
        let path = &self.paths.criteria;
        let mut roots = path.matches(fields)?.all;
        match roots.pop() {
            Some(root) if roots.is_empty() => Ok(root),
            Some(_) => Err(format!("{path} leads to several trees; a case has one")),
            None => Err(format!("{path} is missing")),
        }
    }

    /// The nodes of a tree, each before those below it.
    fn nodes<'v>(&self, root: &'v Value, place: &str) -> Result<Vec<Node<'v>>, String> {
        let mut nodes = Vec::new();
        // A list of open nodes instead of recursion: the depth is the file's.
        let mut open = vec![Node {
            value: root,
            place: place.to_owned(),
            number: String::new(),
            above: None,
            share: 1.0,
            is_leaf: false,
        }];
        while let Some(mut node) = open.pop() {
            let children = self.children(&node, nodes.len())?;
            node.is_leaf = children.is_empty();
            nodes.push(node);
            open.extend(children.into_iter().rev());
        }
        Ok(nodes)
    }

    /// The nodes below this one, whose index is `at`.
    fn children<'v>(&self, node: &Node<'v>, at: usize) -> Result<Vec<Node<'v>>, String> {
        let path = &self.paths.children;
        let list = match path.value(node.value)? {
            Some(Cow::Borrowed(Value::Array(list))) => Ok(list),
            Some(other) => Err(format!("{path}: {}", expected("a list", &other))),
            None => Err(format!("{path} is missing; a criterion has an empty list")),
        };
        let list = list.map_err(|what| at_place(&node.place, &what))?;
        let mut children = Vec::with_capacity(list.len());
        let mut sum = 0.0;
        for (index, value) in list.iter().enumerate() {
            let mut place = format!("{path}[{index}]");
            if !node.place.is_empty() {
                place = format!("{}.{place}", node.place);
            }
            let weight = self.weight(value).map_err(|what| at_place(&place, &what))?;
            if weight < 0.0 {
                return Err(format!(
                    "{place}: the weight {weight} is below 0, which a tree cannot have"
                ));
            }
            sum += weight;
            children.push(Node {
                value,
                place,
                number: within(&node.number, &(index + 1).to_string()),
                above: Some(at),
                share: weight,
                is_leaf: false,
            });
        }
        if !sum.is_finite() {
            return Err(TOO_LARGE.to_owned());
        }
        for child in &mut children {
            // The reference gives 0 to a node below which nothing has a weight.
            let share = if sum > 0.0 { child.share / sum } else { 0.0 };
            child.share = node.share * share;
        }
        Ok(children)
    }

    /// The texts of the nodes; those of leaves are read with their criteria.
    fn texts_of_nodes(&self, nodes: &[Node<'_>]) -> Result<Vec<Arc<str>>, String> {
        let mut texts = Vec::with_capacity(nodes.len());
        for node in nodes {
            let text = if node.is_leaf || !self.profile.shows_path() {
                String::new()
            } else {
                let text = self.text(node.value);
                text.map_err(|what| at_place(&node.place, &what))?
            };
            texts.push(text.into());
        }
        Ok(texts)
    }
}

/// The nodes that count, but have only children of weight 0.
fn without_weight(nodes: &[Node<'_>]) -> Vec<String> {
    let mut has_weight = vec![false; nodes.len()];
    for node in nodes {
        if let Some(above) = node.above.filter(|_| node.share > 0.0) {
            has_weight[above] = true;
        }
    }
    let mut names = Vec::new();
    for (node, has_weight) in nodes.iter().zip(has_weight) {
        if !node.is_leaf && node.share > 0.0 && !has_weight {
            let name = if node.number.is_empty() {
                "the children of the root".to_owned()
            } else {
                format!("the children of node {}", node.number)
            };
            names.push(name);
        }
    }
    names
}
