import { readFileSync } from 'node:fs';

/** Unit of CPU times in /proc on Linux. */
const ticksPerSecond = 100;

/** Returns the CPU time of a process in milliseconds; NaN if the system does not report it. */
export function cpuMsOf(pid) {
  try {
    const [, fields] = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ');
    const [user, system] = fields.split(' ').slice(11, 13).map(Number);
    return ((user + system) * 1_000) / ticksPerSecond;
  } catch {
    return Number.NaN;
  }
}
