import type { PlatformMessage, Recording, SimulatedTerminal } from '@fleet/terminal-simulator';
import { type createApiSender, parseReply, span } from './device-api.ts';
import type { ProductHarness, TerminalSetup } from './harness.ts';
import { createGeneralResponse, createUploadCompletion } from './responses.ts';

/** An upload as returned by the interface. */
export interface UploadResponse {
  readonly video_id: string;
  readonly imei: string;
  readonly channel: number;
  readonly video_start_time: string;
  readonly video_end_time: string;
  readonly filesize: number;
  readonly status: string;
  readonly filename?: string | null;
}

/** Returns the recording of one `span()`, small enough to be sent in a moment. */
export function createRecording(index = 0, more: Partial<Recording> = {}): Recording {
  const { startTime, endTime } = span(index);
  return {
    channel: 1,
    startTime,
    endTime,
    alarmFlags: 0n,
    mediaType: 0,
    streamType: 1,
    storageType: 1,
    fileSizeBytes: 200_000,
    ...more,
  };
}

/** Requests the upload of a `span()` and returns its id. */
export async function requestUpload(api: ReturnType<typeof createApiSender>, imei: string, index = 0): Promise<string> {
  const [status, body] = parseReply(await api(`/videos/upload?imei=${imei}&channel=1&${span(index).query}`));
  if (status !== 200) throw new Error(`no upload: ${status} ${JSON.stringify(body)}`);
  return (body as { video_id: string }).video_id;
}

/** A camera that accepts uploads and sends no byte. Its replies to upload control can be held back. */
export class IdleCamera {
  readonly terminal: SimulatedTerminal;
  #held: PlatformMessage[] | null = null;

  private constructor(terminal: SimulatedTerminal) {
    this.terminal = terminal;
  }

  static async start(harness: ProductHarness, setup: TerminalSetup = {}): Promise<IdleCamera> {
    let respond: (message: PlatformMessage) => ReturnType<IdleCamera['respond']> = () => undefined;
    const terminal = await harness.startTerminal({ ...setup, respond: (message) => respond(message) });
    const camera = new IdleCamera(terminal);
    respond = (message) => camera.respond(message);
    return camera;
  }

  get phone(): string {
    return this.terminal.phone;
  }

  /** Holds the replies to 0x9207 back until `release`. */
  holdResponses(): void {
    this.#held = [];
  }

  release(): void {
    const held = this.#held ?? [];
    this.#held = null;
    for (const message of held) this.terminal.send(createGeneralResponse(message));
  }

  /** Reports the latest upload as failed or complete. */
  sendCompletion(result: 0 | 1): void {
    const request = this.terminal.receivedFrames(0x9206).at(-1);
    if (request === undefined) throw new Error('no upload was requested');
    this.terminal.sendReliably(createUploadCompletion(request, result));
  }

  private respond(message: PlatformMessage): ReturnType<typeof createGeneralResponse>[] | undefined {
    if (message.messageId === 0x9207 && this.#held !== null) {
      this.#held.push(message);
      return [];
    }
    return [0x9206, 0x9207].includes(message.messageId) ? [createGeneralResponse(message)] : undefined;
  }
}
