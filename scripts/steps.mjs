// Runs programs so that no long step is silent: forwards their output, or prints a line every five seconds.
import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';

export const root = fileURLToPath(new URL('..', import.meta.url));

const heartbeatMs = 5_000;
const killAfterMs = 3_000;
let interrupted = false;

function signalGroup(group, signal) {
  try {
    if (group !== undefined) process.kill(-group, signal);
  } catch (error) {
    if (error.code !== 'ESRCH') throw error;
  }
}

/** Returns whether a step was interrupted by Ctrl-C or SIGTERM; no further step should start. */
export const wasInterrupted = () => interrupted;

/**
 * Runs a program in the root. `quiet`: prints its output only when it fails. Returns { ok, seconds, output }.
 * @param {string} title
 * @param {string} command
 * @param {readonly string[]} args
 * @param {{ quiet?: boolean, env?: NodeJS.ProcessEnv }} [options]
 */
export function runStep(title, command, args, { quiet = false, env = process.env } = {}) {
  if (interrupted) return Promise.resolve({ ok: false, seconds: 0, output: '' });
  const startedAt = performance.now();
  const seconds = () => (performance.now() - startedAt) / 1000;
  let lastSignOfLife = performance.now();
  console.log(`- ${title} ...`);
  const heartbeat = setInterval(() => {
    if (performance.now() - lastSignOfLife < heartbeatMs) return;
    console.log(`  ${title}: ${seconds().toFixed(0)} s so far`);
    lastSignOfLife = performance.now();
  }, 500);
  // A separate process group, so that an interruption reaches the program's children: tsc and npm are wrappers.
  const child = spawn(command, args, { cwd: root, env, stdio: ['ignore', 'pipe', 'pipe'], detached: true });
  const chunks = [];
  const collect = (stream) => (chunk) => {
    chunks.push(chunk);
    if (quiet) return;
    lastSignOfLife = performance.now();
    stream.write(chunk);
  };
  child.stdout.on('data', collect(process.stdout));
  child.stderr.on('data', collect(process.stderr));
  let killer;
  const interrupt = () => {
    if (interrupted) return;
    interrupted = true;
    signalGroup(child.pid, 'SIGTERM');
    // The native tsc ignores SIGTERM.
    killer = setTimeout(() => signalGroup(child.pid, 'SIGKILL'), killAfterMs);
  };
  for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, interrupt);
  return new Promise((resolve) => {
    const finish = (ok, problem = '') => {
      clearInterval(heartbeat);
      clearTimeout(killer);
      for (const signal of ['SIGINT', 'SIGTERM']) process.off(signal, interrupt);
      const output = Buffer.concat(chunks).toString('utf8') + problem;
      if (!ok) console.error(quiet ? `${output.trimEnd()}\n  ${title}: failed` : `  ${title}: failed ${problem}`);
      else if (seconds() >= 1) console.log(`  ${title}: done in ${seconds().toFixed(1)} s`);
      resolve({ ok, seconds: seconds(), output });
    };
    child.once('error', (error) => finish(false, error.message));
    child.once('close', (code, signal) => finish(code === 0, signal === null ? '' : `(signal ${signal})`));
  });
}
