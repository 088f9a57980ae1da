//! Notes on the agreement of a panel's judges and the spread of one judge's samples, one sentence each.

use super::agreement::in_line;
use super::layout::{counted, per_cent};
use super::visible::shortened;
use crate::analysis::{DrawNoise, ItemGroup, PanelAgreement, Scale};

/// Names of judges and aspects longer than this are cut.
const LONGEST_NAME: usize = 60;

/// A note for each panel, then one for each judge with several samples.
pub(super) fn panel_notes(panels: &[PanelAgreement], noise: &[DrawNoise]) -> Vec<String> {
    panels.iter().map(agreement).chain(noise.iter().map(samples)).collect()
}

fn agreement(panel: &PanelAgreement) -> String {
    let names: Vec<String> = panel.judges.iter().map(|judge| shortened(&judge.judge, LONGEST_NAME)).collect();
    let head = format!("{}: judges {}", subject(panel.scorer, &panel.group), names.join(", "));
    let units = counted(panel.units, "rating");
    if panel.pairable == 0 {
        return format!("{head}: no agreement: none of {units} is by two judges.");
    }
    let kappa = if panel.group.scale == Scale::Label { "kappa" } else { "weighted kappa" };
    let by_all = match panel.judged_by_all == panel.units {
        true => String::new(),
        false => format!(", {} of them by all", panel.judged_by_all),
    };
    let (alpha, cases) = (in_line(&panel.alpha), counted(panel.cases, "case"));
    format!("{head}: alpha {alpha}, {kappa} {} over {units} of {cases}{by_all}.", in_line(&panel.kappa))
}

fn samples(noise: &DrawNoise) -> String {
    let (subject, judge) = (subject(noise.scorer, &noise.group), shortened(&noise.judge, LONGEST_NAME));
    let head = format!("{subject}: {} by judge {judge}", counted(noise.draws, "sample"));
    let units = counted(noise.units, "rating");
    match (noise.mean_sd, noise.all_equal) {
        (Some(sd), Some(equal)) => format!(
            "{head} differ by a standard deviation of {} on average and are all equal in {}% of {units}.",
            on_scale(sd, noise.group.scale),
            per_cent(equal)
        ),
        _ => format!("{head}: spread unknown, no unit has two readable samples."),
    }
}

/// `rubric points`; aspects use their own name.
fn subject(scorer: &str, group: &ItemGroup) -> String {
    let name = shortened(&group.name, LONGEST_NAME);
    if group.scale == Scale::Grade { name } else { format!("{} {name}", scorer.replace('_', " ")) }
}

/// A mean or a standard deviation on its scale.
pub(super) fn on_scale(value: f64, scale: Scale) -> String {
    match scale {
        Scale::Share | Scale::Label => format!("{}%", per_cent(value)),
        Scale::Points | Scale::Count | Scale::Grade | Scale::Number => format!("{value:.2}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::{Estimate, PanelJudge};

    fn panel(name: &str, scale: Scale) -> PanelAgreement {
        let judge = |name: &str, mean| PanelJudge { judge: name.into(), rated: 100, mean: Some(mean) };
        PanelAgreement {
            scorer: if scale == Scale::Grade { "prometheus" } else { "entailment" },
            group: ItemGroup { name: name.to_owned(), scale },
            judges: vec![judge("a", 0.5), judge("b\u{1b}[2J", 0.75)],
            units: 100,
            pairable: 100,
            judged_by_all: 100,
            cases: 50,
            alpha: Estimate { estimate: Some(0.614), low: Some(0.5), high: Some(0.7), undefined: None },
            kappa: Estimate { estimate: Some(-0.001), ..Estimate::default() },
            kappa_pairs: 1,
        }
    }

    fn note_of(panel: PanelAgreement) -> String {
        panel_notes(&[panel], &[]).remove(0)
    }

    #[test]
    fn a_panel_has_one_line_and_names_cannot_move_the_cursor() {
        assert_eq!(
            note_of(panel("coverage", Scale::Grade)),
            "coverage: judges a, b\\u{1b}[2J: alpha 0.61 [0.50, 0.70], weighted kappa 0.00 over 100 ratings of 50 cases."
        );
        let partly = PanelAgreement { judged_by_all: 98, cases: 1, ..panel("labels", Scale::Label) };
        assert_eq!(
            note_of(partly),
            "entailment labels: judges a, b\\u{1b}[2J: alpha 0.61 [0.50, 0.70], kappa 0.00 over 100 ratings of 1 case, \
             98 of them by all."
        );
    }

    #[test]
    fn undefined_values_have_a_reason() {
        let same = || Estimate::undefined("all ratings are one value");
        let panel = PanelAgreement { alpha: same(), kappa: same(), kappa_pairs: 0, ..panel("coverage", Scale::Grade) };
        let apart = PanelAgreement { pairable: 0, judged_by_all: 0, cases: 0, ..panel.clone() };
        assert!(
            note_of(panel).contains(": alpha not defined (all ratings are one value), weighted kappa not defined (")
        );
        assert_eq!(
            note_of(apart),
            "coverage: judges a, b\\u{1b}[2J: no agreement: none of 100 ratings is by two judges."
        );
    }

    #[test]
    fn noise_is_shown_on_its_scale() {
        let noise = |scale, mean_sd, all_equal| DrawNoise {
            scorer: "rubric",
            group: ItemGroup { name: "claims".to_owned(), scale },
            judge: "a".into(),
            draws: 5,
            units: 1,
            mean_sd,
            all_equal,
        };
        let notes = panel_notes(&[], &[noise(Scale::Share, Some(0.125), Some(1.0)), noise(Scale::Share, None, None)]);
        assert_eq!(
            notes,
            [
                "rubric claims: 5 samples by judge a differ by a standard deviation of 12.5% on average and are all equal in \
                 100.0% of 1 rating.",
                "rubric claims: 5 samples by judge a: spread unknown, no unit has two readable samples."
            ]
        );
    }
}
