import { type Clip, type ClipOptions, createClip } from './media/clip.ts';
import type { ClipSpec } from './media/clip-spec.ts';
import type { ClipProvider } from './terminal-options.ts';

/** Content of a terminal's cameras, apart from number and channel. */
export interface CameraClipSpecs {
  /** Main stream. */
  main?: Partial<ClipSpec>;
  /** Sub stream: smaller by default. */
  sub?: Partial<ClipSpec>;
}

const subStreamSpec: Partial<ClipSpec> = { width: 352, height: 288, fps: 10, gop: 20, bitrateKbps: 200 };

function getOverlayText(phone: string, channel: number): string {
  return `${phone.slice(-12)}-${channel}`;
}

/**
 * Creates the clips of a terminal's cameras when first needed. Each has its number and channel in the picture and its
 * own tone.
 */
export function createCameraClips(phone: string, options: ClipOptions, specs: CameraClipSpecs = {}): ClipProvider {
  return (channel, stream) => {
    const stamp = getOverlayText(phone, channel);
    const toneHz = 330 + 110 * (channel % 8);
    const base = { stamp, toneHz };
    return createClip(
      stream === 'main' ? { ...base, ...specs.main } : { ...base, ...specs.main, ...subStreamSpec, ...specs.sub },
      options,
    );
  };
}

/** Creates all clips of a terminal in advance, channel by channel, so that the first request is served immediately. */
export async function prepareClips(clips: ClipProvider, channels: number): Promise<Clip[]> {
  const prepared: Clip[] = [];
  for (let channel = 1; channel <= channels; channel += 1) {
    prepared.push(...(await Promise.all([clips(channel, 'main'), clips(channel, 'sub')])));
  }
  return prepared;
}
