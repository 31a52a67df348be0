import { readDoctorOptions } from './doctor/doctor-options.ts';
import { formatVerdict, runDoctor } from './doctor/run-doctor.ts';
import { readOptions } from './options.ts';
import { readRuntime } from './runtime-file.ts';
import { describeError } from './start-error.ts';

/** Exit codes: 0 without a failed check, 1 with one, 2 if the command line is wrong. */
async function main(): Promise<number> {
  const options = readDoctorOptions(
    process.argv.slice(2),
    process.env,
    readRuntime(readOptions([], process.env).dataDir),
  );
  const verdicts = await runDoctor(options, (verdict) => {
    if (!options.isJson) console.log(formatVerdict(verdict));
  });
  const failedCount = verdicts.filter(({ status }) => status === 'failed').length;
  if (options.isJson) console.log(JSON.stringify({ is_healthy: failedCount === 0, checks: verdicts }, null, 2));
  else console.log(failedCount === 0 ? 'No check failed.' : `${failedCount} of ${verdicts.length} checks failed.`);
  return failedCount === 0 ? 0 : 1;
}

try {
  process.exit(await main());
} catch (error) {
  console.error(describeError(error));
  process.exit(2);
}
