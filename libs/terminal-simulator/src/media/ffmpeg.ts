import { type ChildProcess, spawn } from 'node:child_process';

/** Thrown when ffmpeg could not be started or failed; the message ends with its error output. */
export class FfmpegError extends Error {
  override readonly name = 'FfmpegError';
}

/** Returns the path of ffmpeg: the given path, else FFMPEG_PATH, else the PATH. */
export function getFfmpegPath(configuredPath?: string): string {
  return configuredPath ?? (process.env['FFMPEG_PATH'] || 'ffmpeg');
}

const runningProcesses = new Set<ChildProcess>();
// Kill running ffmpeg processes when this process exits, since nothing else would end them.
process.on('exit', () => {
  for (const child of runningProcesses) child.kill('SIGKILL');
});

/** Runs ffmpeg until it exits and returns its standard output. */
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
      else reject(new FfmpegError(`ffmpeg exited with ${code ?? signal}: ${errorOutput.trim()}`));
    });
  });
}
