import { cpus, totalmem } from 'node:os';

/** Returns the description of the machine that was measured. */
export function machine() {
  const cpu = cpus();
  const memory = Math.round(totalmem() / 2 ** 30);
  return `${cpu.length} x ${cpu[0]?.model ?? 'unknown CPU'}, ${memory} GiB, Node.js ${process.version}`;
}
