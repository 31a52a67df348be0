// Ends the children of a launcher that was itself killed. It receives their process groups on stdin ("+123", "-123");
// stdin closes when the launcher exits, for whatever reason.
// Usage: node reaper.mjs <launcher pid> <file to remove>...
import { readFileSync, rmSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';

const graceMs = 8000;
const [launcherPid, ...filesToRemove] = process.argv.slice(2);
const groups = new Set();

/** Signals a process group; returns false when it no longer exists. */
function signal(group, name) {
  try {
    process.kill(-group, name);
    return true;
  } catch (error) {
    return error.code === 'EPERM';
  }
}

/** Detects zombies: without a reaper of orphans (a container without an init), exited processes stay listed. */
function isZombie(pid) {
  try {
    return / Z /.test(readFileSync(`/proc/${pid}/stat`, 'utf8').replace(/^.*\)/s, ''));
  } catch (error) {
    if (error.code === undefined) throw error;
    return false;
  }
}

// A new launcher may already have replaced the file of the killed one.
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
