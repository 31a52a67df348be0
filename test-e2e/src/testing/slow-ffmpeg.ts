import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
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
  /** Path of the program. */
  readonly path = join(this.#folder, 'ffmpeg');

  constructor() {
    const script = [
      '#!/bin/sh',
      'case "$*" in',
      `  *faststart*) [ -e '${this.#flag}' ] && exec '${getFfmpegPath()}' -re "$@" ;;`,
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

  remove(): void {
    rmSync(this.#folder, { recursive: true, force: true });
  }
}
