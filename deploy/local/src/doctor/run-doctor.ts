import { type Check, runCheck, type Verdict } from './check.ts';
import type { DoctorOptions } from './doctor-options.ts';
import { createInstallationChecks } from './installation-checks.ts';
import { createNetworkChecks } from './network-checks.ts';
import { TerminalTrial } from './terminal-trial.ts';

/** Runs all checks and calls back after each. Checks of the network run concurrently, those of the terminal in order. */
export async function runDoctor(options: DoctorOptions, report: (verdict: Verdict) => void): Promise<Verdict[]> {
  const verdicts: Verdict[] = [];
  const run = async (check: Check): Promise<void> => {
    const verdict = await runCheck(check);
    verdicts.push(verdict);
    report(verdict);
  };
  await Promise.all([...createNetworkChecks(options), ...createInstallationChecks(options)].map(run));
  if (!options.hasTerminal) return verdicts;
  const trial = new TerminalTrial(options);
  try {
    for (const check of trial.checks) await run(check);
  } finally {
    await run({
      name: 'Clean-up',
      timeoutMs: 30_000,
      advice: 'Delete the vehicle DOCTOR of this run by hand.',
      run: async () => {
        await trial.end();
        return { status: 'ok', text: 'The vehicle of the trial is deleted.' };
      },
    });
  }
  return verdicts;
}

const marks = { ok: 'ok     ', warning: 'WARNING', failed: 'FAILED ', skipped: 'skipped' } as const;

/** Formats a verdict as one line, and one with the advice. */
export const formatVerdict = ({ name, status, text, advice }: Verdict): string =>
  `${marks[status]} ${name}: ${text}${advice === undefined ? '' : `\n        -> ${advice}`}`;
