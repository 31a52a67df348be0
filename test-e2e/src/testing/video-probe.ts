import { waitFor } from '@fleet/testing';
import type { Locator } from 'playwright-core';
import { pageTimeoutMs } from './dashboard-browser.ts';

/** What a video element has played. */
interface Played {
  readonly time: number;
  readonly pictures: number;
  /** The picture on screen, reduced to 16 by 9 pixels. */
  readonly thumbnail: string;
}

const readVideo = (video: Locator): Promise<Played> =>
  video.evaluate((element) => {
    const played = element as unknown as {
      currentTime: number;
      getVideoPlaybackQuality(): { totalVideoFrames: number };
    };
    const { OffscreenCanvas: Canvas } = globalThis as unknown as {
      OffscreenCanvas: new (
        width: number,
        height: number,
      ) => {
        getContext(kind: '2d'): {
          drawImage(source: unknown, ...box: number[]): void;
          getImageData(...box: number[]): { data: Uint8ClampedArray };
        };
      };
    };
    const context = new Canvas(16, 9).getContext('2d');
    context.drawImage(played, 0, 0, 16, 9);
    const thumbnail = [...context.getImageData(0, 0, 16, 9).data].join();
    return { time: played.currentTime, pictures: played.getVideoPlaybackQuality().totalVideoFrames, thumbnail };
  });

/** Waits until a video advances by a second and its picture changes. */
export async function waitForPlaying(video: Locator, timeoutMs = pageTimeoutMs): Promise<Played> {
  await video.waitFor();
  let before = await readVideo(video);
  return waitFor(
    async () => {
      const now = await readVideo(video);
      // A new stream begins again.
      if (now.time < before.time) before = now;
      const isPlaying = now.time > before.time + 1 && now.pictures > before.pictures;
      return isPlaying && now.thumbnail !== before.thumbnail ? now : undefined;
    },
    'a second of video with changing pictures',
    timeoutMs,
  );
}
