import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { getFfmpegPath } from '@fleet/terminal-simulator';

/**
 * The real ffmpeg, for the setting `FFMPEG_PATH`. On request, its conversions to MP4 last as long as the clip, so that
 * they can be disturbed.
 */
export class SlowFfmpeg {
  readonly #folder = mkdtempSync(join(tmpdir(), 'fleet-ffmpeg-'));
  readonly #flag = join(this.#folder, 'slow');
  readonly #pidFile = join(this.#folder, 'pid');
  /** Path of the program. */
  readonly path = join(this.#folder, 'ffmpeg');

  constructor() {
    const script = [
      '#!/bin/sh',
      'case "$*" in',
      `  *faststart*) [ -e '${this.#flag}' ] && echo $$ >'${this.#pidFile}' && exec '${getFfmpegPath()}' -re "$@" ;;`,
      'esac',
      `exec '${getFfmpegPath()}' "$@"`,
    ];
    writeFileSync(this.path, `${script.join('\n')}\n`);
    chmodSync(this.path, 0o755);
  }

  slowDown(): void {
    writeFileSync(this.#flag, '');
  }

  speedUp(): void {
    rmSync(this.#flag, { force: true });
  }

  /** Returns whether the newest slow conversion is running. */
  isSlowRunning(): boolean {
    if (!existsSync(this.#pidFile)) return false;
    try {
      process.kill(Number(readFileSync(this.#pidFile, 'utf8')), 0);
      return true;
    } catch {
      // There is no such process.
      return false;
    }
  }

  remove(): void {
    rmSync(this.#folder, { recursive: true, force: true });
  }
}
