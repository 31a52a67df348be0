import { readFileSync } from 'node:fs';
import { cpuMsOf } from './cpu-time.mjs';

/** Returns the CPU time of all processes of a browser, and the memory of its largest page in MiB. */
export async function readProcesses(browserSession) {
  const { processInfo } = await browserSession.send('SystemInfo.getProcessInfo');
  const sizes = processInfo
    .filter(({ type }) => type === 'renderer')
    .map(({ id }) => Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${id}/status`, 'utf8'))?.[1] ?? 0) / 1_024);
  return { cpuMs: processInfo.reduce((sum, { id }) => sum + cpuMsOf(id), 0), memoryMiB: Math.max(0, ...sizes) };
}
