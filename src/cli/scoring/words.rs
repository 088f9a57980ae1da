//! The lines that a run says about itself on standard error.

use crate::cli::terminal::grouped;
use crate::evaluation::{Plan, PlanOutcome};

use super::setup::LEXICAL_ID;

/// What a plan asks of models: the calls to the built-in baseline cost nothing.
pub(in crate::cli) fn of_models(planned: &PlanOutcome) -> Plan {
    let free = planned.groups.iter().filter(|group| &*group.judge == LEXICAL_ID);
    free.fold(planned.plan, |plan, group| Plan {
        askable_now: plan.askable_now.saturating_sub(group.now().calls),
        at_most: plan.at_most.saturating_sub(group.at_most().calls),
        ..plan
    })
}

/// The line before the first paid call.
pub(in crate::cli) fn plan_line(plan: &Plan) -> String {
    if plan.at_most == 0 {
        return format!("plan: nothing to ask; all {} replies are cached", grouped(plan.cached));
    }
    format!(
        "plan: {} calls now, up to {} in total; ~{} prompt tokens (up to ~{}); {} cached",
        grouped(plan.askable_now),
        grouped(plan.at_most),
        grouped(plan.prompt_tokens_now),
        grouped(plan.prompt_tokens_at_most),
        grouped(plan.cached),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_plan_says_what_is_asked_and_what_is_cached() {
        let plan = Plan {
            answers: 2,
            answer_scores: 2,
            askable_now: 10,
            at_most: 14,
            cached: 3,
            prompt_tokens_now: 12_000,
            prompt_tokens_at_most: 15_000,
        };
        assert_eq!(
            plan_line(&plan),
            "plan: 10 calls now, up to 14 in total; ~12,000 prompt tokens (up to ~15,000); 3 cached"
        );
        let cached = Plan { cached: 3, ..Plan::default() };
        assert_eq!(plan_line(&cached), "plan: nothing to ask; all 3 replies are cached");
    }
}
