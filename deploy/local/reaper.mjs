// Ends the children of a launcher that was itself killed: it learns their process groups on stdin ("+123", "-123"), and
// stdin closes when the launcher is gone, however it went. Usage: node reaper.mjs <launcher pid> <file to remove>...
import { readFileSync, rmSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';

const graceMs = 8000;
const [launcherPid, ...filesToRemove] = process.argv.slice(2);
const groups = new Set();

/** Signals a whole process group; false when there is none any more. */
function signal(group, name) {
  try {
    process.kill(-group, name);
    return true;
  } catch (error) {
    return error.code === 'EPERM';
  }
}

/** Where nobody collects orphans (a container without an init), what has ended stays listed as a zombie. */
function isZombie(pid) {
  try {
    return / Z /.test(readFileSync(`/proc/${pid}/stat`, 'utf8').replace(/^.*\)/s, ''));
  } catch (error) {
    if (error.code === undefined) throw error;
    return false;
  }
}

/** A new launcher may already have its own file instead of the dead one's. */
function removeIfStillOf(pid, file) {
  try {
    if (String(JSON.parse(readFileSync(file, 'utf8')).pid) === pid) rmSync(file, { force: true });
  } catch (error) {
    if (error.code !== 'ENOENT' && !(error instanceof SyntaxError)) throw error;
  }
}

for await (const line of createInterface({ input: process.stdin })) {
  const group = Number(line.slice(1));
  if (!Number.isInteger(group) || group <= 1) continue;
  if (line.startsWith('+')) groups.add(group);
  else groups.delete(group);
}

for (const group of groups) signal(group, 'SIGTERM');
const deadline = Date.now() + graceMs;
while (Date.now() < deadline && [...groups].some((group) => signal(group, 0) && !isZombie(group))) await sleep(50);
for (const group of groups) signal(group, 'SIGKILL');
for (const file of filesToRemove) removeIfStillOf(launcherPid, file);
