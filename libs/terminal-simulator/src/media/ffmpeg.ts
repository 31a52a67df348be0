import { type ChildProcess, spawn } from 'node:child_process';

/** ffmpeg could not be started or failed; the message ends with what it said. */
export class FfmpegError extends Error {
  override readonly name = 'FfmpegError';
}

/** Where ffmpeg is: the given path, else FFMPEG_PATH, else the PATH. */
export function getFfmpegPath(configuredPath?: string): string {
  return configuredPath ?? (process.env['FFMPEG_PATH'] || 'ffmpeg');
}

const runningProcesses = new Set<ChildProcess>();
// Nobody else would end them when this process is stopped in the middle.
process.on('exit', () => {
  for (const child of runningProcesses) child.kill('SIGKILL');
});

/** Runs ffmpeg to its end and gives its standard output. */
export function runFfmpeg(path: string, args: readonly string[]): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const child = spawn(path, ['-hide_banner', '-nostdin', '-v', 'error', ...args], {
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    runningProcesses.add(child);
    const output: Buffer[] = [];
    let errorOutput = '';
    child.stdout.on('data', (chunk: Buffer) => output.push(chunk));
    child.stderr.on('data', (chunk: Buffer) => {
      if (errorOutput.length < 2000) errorOutput += chunk.toString();
    });
    child.on('error', (cause) => {
      runningProcesses.delete(child);
      reject(
        new FfmpegError(`ffmpeg could not be started from "${path}": set FFMPEG_PATH or install ffmpeg`, { cause }),
      );
    });
    child.on('close', (code, signal) => {
      runningProcesses.delete(child);
      if (code === 0) resolve(Buffer.concat(output));
      else reject(new FfmpegError(`ffmpeg ended with ${code ?? signal}: ${errorOutput.trim()}`));
    });
  });
}
