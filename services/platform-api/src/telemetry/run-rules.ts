import type { AttachmentRequest, Finding, FindingUpdate, Rule, RuleContext } from '../rules/rule.ts';
import type { Report } from './report.ts';

/** State of each rule for a vehicle, by the rule's name; JSON. */
export type RuleStates = Readonly<Record<string, unknown>>;

/** Results of the rules for a report. */
interface RulesResult {
  readonly states: RuleStates;
  readonly findings: readonly Finding[];
  readonly updates: readonly FindingUpdate[];
  readonly attachmentRequests: readonly AttachmentRequest[];
  readonly mustPersist: boolean;
}

/** A report that is this late is marked as delayed. */
export const backfilledAfterMs = 300_000;

/** Evaluates a report with the rules, in order; `reportFor` returns the report for a rule, or null to skip it. */
export function runRules(
  before: RuleStates | undefined,
  rules: readonly Rule[],
  context: RuleContext,
  reportFor: (rule: Rule) => Report | null,
): RulesResult {
  const states: Record<string, unknown> = { ...before };
  const findings: Finding[] = [];
  const updates: FindingUpdate[] = [];
  const attachmentRequests: AttachmentRequest[] = [];
  let mustPersist = false;
  for (const rule of rules) {
    const report = reportFor(rule);
    if (report === null) continue;
    const outcome = rule.step(states[rule.name], report, context);
    if (outcome.state === undefined) delete states[rule.name];
    else states[rule.name] = outcome.state;
    findings.push(...outcome.findings);
    updates.push(...outcome.updates);
    attachmentRequests.push(...(outcome.attachmentRequests ?? []));
    mustPersist ||= outcome.mustPersist;
  }
  return { states, findings, updates, attachmentRequests, mustPersist };
}
