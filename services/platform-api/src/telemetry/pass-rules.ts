import type { Amended, Attached, Raised, Rule, RuleContext } from '../rules/rule.ts';
import type { Report } from './report.ts';

/** State of each rule for a vehicle, by the rule's name; JSON. */
export type RuleStates = Readonly<Record<string, unknown>>;

/** Results of the rules for a report. */
export interface Passed {
  readonly states: RuleStates;
  readonly raised: readonly Raised[];
  readonly amended: readonly Amended[];
  readonly attached: readonly Attached[];
  readonly turned: boolean;
}

/** A report that is this late is marked as delayed. */
export const backfilledAfterMs = 300_000;

/** Evaluates a report with the rules, in order; `reportFor` returns the report for a rule, or null to skip it. */
export function passRules(
  before: RuleStates | undefined,
  rules: readonly Rule[],
  context: RuleContext,
  reportFor: (rule: Rule) => Report | null,
): Passed {
  const states: Record<string, unknown> = { ...before };
  const raised: Raised[] = [];
  const amended: Amended[] = [];
  const attached: Attached[] = [];
  let turned = false;
  for (const rule of rules) {
    const report = reportFor(rule);
    if (report === null) continue;
    const outcome = rule.step(states[rule.name], report, context);
    if (outcome.state === undefined) delete states[rule.name];
    else states[rule.name] = outcome.state;
    raised.push(...outcome.raised);
    amended.push(...outcome.amended);
    attached.push(...(outcome.attached ?? []));
    turned ||= outcome.turned;
  }
  return { states, raised, amended, attached, turned };
}
