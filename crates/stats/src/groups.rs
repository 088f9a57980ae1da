//! Compact letter display: groups of systems that do not differ significantly.

/// Groups of systems without significant differences, systems numbered in table order.
///
/// `differ` lists the pairs that differ significantly. Two systems share a group exactly if they do not; a system may
/// be in several groups, or alone. Groups are grown greedily in table order, so there are at most as many as pairs
/// without a significant difference, plus the lone systems. (H.-P. Piepho, "An algorithm for a letter-based
/// representation of all-pairwise comparisons", Journal of Computational and Graphical Statistics 13, 2004, for the
/// display and its two properties.)
///
/// ```
/// use scholareval_stats::{group_letters, indistinguishable_groups};
///
/// // The first differs from the third only: a chain.
/// let groups = indistinguishable_groups(3, &[(0, 2)]);
/// assert_eq!(groups, [vec![0, 1], vec![1, 2]]);
/// assert_eq!(group_letters(3, &groups), ["a", "ab", "b"]);
/// ```
pub fn indistinguishable_groups(systems: usize, differ: &[(usize, usize)]) -> Vec<Vec<usize>> {
    let mut apart = vec![vec![false; systems]; systems];
    for (a, b) in differ
        .iter()
        .copied()
        .filter(|(a, b)| *a < systems && *b < systems && a != b)
    {
        apart[a][b] = true;
        apart[b][a] = true;
    }
    let mut groups: Vec<Vec<usize>> = Vec::new();
    // In table order, so that the best systems get the first letters.
    for first in 0..systems {
        for second in first + 1..systems {
            let covered = groups
                .iter()
                .any(|group| group.contains(&first) && group.contains(&second));
            if !apart[first][second] && !covered {
                groups.push(grow_group(first, second, &apart));
            }
        }
        if !groups.iter().any(|group| group.contains(&first)) {
            groups.push(vec![first]);
        }
    }
    groups
}

/// The pair and, in table order, every system that differs from no member so far.
fn grow_group(first: usize, second: usize, apart: &[Vec<bool>]) -> Vec<usize> {
    let mut group = vec![first, second];
    for (system, differs) in apart.iter().enumerate() {
        if !group.contains(&system) && group.iter().all(|member| !differs[*member]) {
            group.push(system);
        }
    }
    group.sort_unstable();
    group
}

/// The letters of each system: `a` for the first group, `b` for the second. After `z` come numbers in brackets.
pub fn group_letters(systems: usize, groups: &[Vec<usize>]) -> Vec<String> {
    let mut letters = vec![String::new(); systems];
    for (index, group) in groups.iter().enumerate() {
        for system in group {
            // Groups name systems below `systems`; another index has no row to be shown in.
            if let Some(letters_of_system) = letters.get_mut(*system) {
                letters_of_system.push_str(&letter(index));
            }
        }
    }
    letters
}

/// `a` to `z`, then `(27)` and on.
fn letter(index: usize) -> String {
    match u8::try_from(index) {
        Ok(index) if index < 26 => char::from(b'a' + index).to_string(),
        _ => format!("({})", index + 1),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn no_difference_is_one_group_and_all_differences_are_a_group_each() {
        assert_eq!(indistinguishable_groups(3, &[]), [vec![0, 1, 2]]);
        assert_eq!(
            indistinguishable_groups(3, &[(0, 1), (2, 1), (0, 2)]),
            [[0], [1], [2]]
        );
        assert_eq!(indistinguishable_groups(0, &[]), Vec::<Vec<usize>>::new());
        assert_eq!(indistinguishable_groups(2, &[(0, 9), (1, 1)]), [[0, 1]]);
    }

    #[test]
    fn numbers_follow_after_z() {
        let all: Vec<(usize, usize)> = (0..28).flat_map(|a| (0..a).map(move |b| (a, b))).collect();
        let letters = group_letters(28, &indistinguishable_groups(28, &all));
        assert_eq!(
            (
                letters[0].as_str(),
                letters[25].as_str(),
                letters[27].as_str()
            ),
            ("a", "z", "(28)")
        );
    }

    proptest! {
        #[test]
        fn two_systems_share_a_group_exactly_if_they_do_not_differ(
            differ in prop::collection::vec((0..7_usize, 0..7_usize), 0..20)
        ) {
            let groups = indistinguishable_groups(7, &differ);
            for a in 0..7 {
                prop_assert!(groups.iter().any(|group| group.contains(&a)));
                for b in 0..a {
                    let apart = differ.contains(&(a, b)) || differ.contains(&(b, a));
                    prop_assert_eq!(groups.iter().any(|group| group.contains(&a) && group.contains(&b)), !apart);
                }
            }
        }
    }
}
