import type { Amended, Attached, Raised, Rule, RuleContext } from '../rules/rule.ts';
import type { Report } from './report.ts';

/** What each rule remembers of a vehicle, by the rule's name; JSON. */
export type RuleStates = Readonly<Record<string, unknown>>;

/** What rules have made of a report. */
export interface Passed {
  readonly states: RuleStates;
  readonly raised: readonly Raised[];
  readonly amended: readonly Amended[];
  readonly attached: readonly Attached[];
  readonly turned: boolean;
}

/** What arrives so late was not told when it happened. */
export const backfilledAfterMs = 300_000;

/** Passes a report through rules, in order; `reportFor` says what a rule is to see of it, null: nothing. */
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
