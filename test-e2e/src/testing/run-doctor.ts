import { spawn } from 'node:child_process';
import { resolve } from 'node:path';

interface DoctorVerdict {
  readonly name: string;
  readonly status: 'ok' | 'warning' | 'failed' | 'skipped';
  readonly text: string;
  readonly advice?: string;
}

interface DoctorResult {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
  /** Verdicts of `--json`; empty without it. */
  readonly checks: readonly DoctorVerdict[];
}

/** Runs `npm run doctor` without the build on the product of a data folder. */
export async function runDoctor(args: readonly string[], dataDir: string): Promise<DoctorResult> {
  const child = spawn(process.execPath, [resolve('deploy/local/dist/doctor-main.js'), ...args], {
    env: { ...process.env, DATA_DIR: dataDir },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let [stdout, stderr] = ['', ''];
  child.stdout.setEncoding('utf8').on('data', (text: string) => (stdout += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text));
  const code = await new Promise<number | null>((done, fail) => {
    child.once('error', fail);
    child.once('close', done);
  });
  const checks = args.includes('--json') && stdout !== '' ? (JSON.parse(stdout) as DoctorResult).checks : [];
  return { code, stdout, stderr, checks };
}
