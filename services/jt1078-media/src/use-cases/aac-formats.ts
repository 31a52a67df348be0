import { type AacFormat, defaultAacFormat } from '@fleet/jt1078';
import type { Logger } from '@fleet/service-kit';
import type { TerminalAudioProfiles } from './terminal-audio.ts';

/** Parses MODEL=rate/channels entries, separated by commas, by model or canonical terminal number. */
export function parseAacFormats(text: string | undefined): ReadonlyMap<string, AacFormat> {
  const formats = new Map<string, AacFormat>();
  for (const entry of text?.split(',') ?? []) {
    const [name = '', format = ''] = entry.split('=');
    const [sampleRate, channels] = format.split('/').map(Number);
    const key = /^\d{12}$|^\d{20}$/.test(name) ? name.replace(/^0+/, '') : name;
    formats.set(key, {
      sampleRate: sampleRate ?? defaultAacFormat.sampleRate,
      channels: channels ?? defaultAacFormat.channels,
    });
  }
  return formats;
}

/** Finds the form of AAC without ADTS: by setting, or as the terminal reports it. */
export class AacFormats {
  readonly #profiles: Pick<TerminalAudioProfiles, 'read' | 'find'>;
  readonly #configured: ReadonlyMap<string, AacFormat>;
  readonly #log: Logger;

  constructor(options: {
    profiles: Pick<TerminalAudioProfiles, 'read' | 'find'>;
    configured: ReadonlyMap<string, AacFormat>;
    log: Logger;
  }) {
    this.#profiles = options.profiles;
    this.#configured = options.configured;
    this.#log = options.log;
  }

  /** Returns the form of a terminal's AAC, or 8 kHz mono when it is unknown. */
  async find(imei: string): Promise<AacFormat> {
    const { model } = await this.#profiles.read(imei);
    const configured = this.#configured.get(imei) ?? (model === null ? undefined : this.#configured.get(model));
    if (configured !== undefined) return configured;
    const audio = await this.#profiles.find(imei);
    if (audio !== null) return { sampleRate: audio.sampleRate, channels: Math.min(2, audio.channels) };
    this.#log.info({ imei, ...defaultAacFormat }, 'unknown form of AAC without ADTS: using the default');
    return defaultAacFormat;
  }
}
