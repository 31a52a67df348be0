import type { Outcome } from '@fleet/bus';
import type { UploadStatus } from '@fleet/storage';

/** Responses of a camera, or none. */
export const cameraAnswers = ['accepts', 'fails', 'malformed', 'unsupported', 'gone', 'silent', 'garbled'] as const;
export type CameraAnswer = (typeof cameraAnswers)[number];

/** Events of uploads, each about one of a few clips of one camera. */
export type Step =
  | { readonly kind: 'request' | 'delete' | 'crash'; readonly clip: number }
  | { readonly kind: 'control'; readonly clip: number; readonly action: number }
  /** What upload-ftp makes of bytes, 0x1206 or silence. */
  | { readonly kind: 'settle'; readonly clip: number; readonly to: 'completed' | 'failed' };

/** Expected response for the caller. */
export interface Expected {
  readonly status: number;
  /** `result` of a request, otherwise `status` of the upload. */
  readonly says?: string;
}

/** Result of a step: known immediately, after the camera's response, or after the previous step. */
export type Verdict =
  | { readonly when: 'now'; readonly expected: Expected | undefined }
  | { readonly when: 'answered'; readonly finish: (answer: CameraAnswer) => Expected }
  | { readonly when: 'other'; readonly after: (other: Expected) => Verdict };

const refusals: readonly CameraAnswer[] = ['fails', 'malformed', 'unsupported'];

/** Outcome of each response at the gateway; a result code for terminal general responses. */
export const outcomes: Record<CameraAnswer, number | Outcome> = {
  accepts: 0,
  fails: 1,
  malformed: 2,
  unsupported: 3,
  gone: { kind: 'notConnected' },
  silent: { kind: 'timedOut' },
  garbled: { kind: 'unreadable', detail: 'x' },
};

const failures: Partial<Record<CameraAnswer, number>> = { gone: 404, silent: 504, garbled: 502 };
const isOver = (status: UploadStatus): boolean => status !== 'uploading' && status !== 'paused';

/** Model of the interface's table of upload states, written independently of the code. */
export class UploadModel {
  readonly status = new Map<number, UploadStatus>();
  /** Commands that the camera must have received. */
  readonly frames: string[] = [];
  /** A request, a control and a resume without a response. */
  #asked: number | undefined;
  #controlled: number | undefined;
  #resumed: number | undefined;

  get #isBusy(): boolean {
    const isSending = [...this.status.values()].includes('uploading');
    return isSending || this.#asked !== undefined || this.#resumed !== undefined;
  }

  begin(step: Step): Verdict {
    switch (step.kind) {
      case 'request':
        return this.#request(step.clip);
      case 'control':
        return this.#control(step.clip, step.action);
      case 'delete':
        return { when: 'now', expected: this.#delete(step.clip) };
      case 'settle':
        this.#settle(step.clip, step.to);
        return { when: 'now', expected: undefined };
      case 'crash':
        return { when: 'now', expected: undefined };
    }
  }

  #request(clip: number): Verdict {
    const known = this.status.get(clip);
    if (known !== undefined) return { when: 'now', expected: { status: 200, says: known } };
    if (this.#asked === clip) return { when: 'other', after: (other) => ({ when: 'now', expected: other }) };
    if (this.#isBusy) return { when: 'now', expected: { status: 409 } };
    this.#asked = clip;
    this.frames.push('request');
    return {
      when: 'answered',
      finish: (answer) => {
        this.#asked = undefined;
        if (answer !== 'accepts') return { status: failures[answer] ?? 502 };
        this.status.set(clip, 'uploading');
        return { status: 200, says: 'success' };
      },
    };
  }

  #control(clip: number, action: number): Verdict {
    const seen = this.status.get(clip);
    if (seen === undefined) return { when: 'now', expected: { status: 404 } };
    const next = nextStatus(seen, action);
    if (next === undefined) return { when: 'now', expected: { status: 409 } };
    if (this.#controlled === clip)
      return {
        when: 'other',
        after: () =>
          this.status.get(clip) === seen
            ? this.#control(clip, action)
            : { when: 'now', expected: { status: this.status.has(clip) ? 409 : 404 } },
      };
    if (action === 1 && this.#isBusy) return { when: 'now', expected: { status: 409 } };
    this.#controlled = clip;
    if (action === 1) this.#resumed = clip;
    this.frames.push(`control ${action}`);
    return {
      when: 'answered',
      finish: (answer) => {
        this.#controlled = undefined;
        if (action === 1) this.#resumed = undefined;
        return this.#afterControl(clip, seen, next, answer);
      },
    };
  }

  #afterControl(clip: number, seen: UploadStatus, next: UploadStatus, answer: CameraAnswer): Expected {
    const failure = failures[answer];
    if (failure !== undefined) return { status: failure };
    if (this.status.get(clip) !== seen) return { status: 409 };
    if (refusals.includes(answer)) return { status: 200, says: seen };
    this.status.set(clip, next);
    return { status: 200, says: next };
  }

  #delete(clip: number): Expected {
    const status = this.status.get(clip);
    if (status === undefined) return { status: 404 };
    if (!isOver(status)) return { status: 403 };
    this.status.delete(clip);
    return { status: 200, says: status };
  }

  #settle(clip: number, to: 'completed' | 'failed'): void {
    const status = this.status.get(clip);
    if (status === 'uploading' || (status === 'paused' && to === 'failed')) this.status.set(clip, to);
  }
}

function nextStatus(status: UploadStatus, action: number): UploadStatus | undefined {
  const table: Record<string, UploadStatus> = {
    'uploading 0': 'paused',
    'paused 1': 'uploading',
    'uploading 2': 'cancelled',
    'paused 2': 'cancelled',
  };
  return table[`${status} ${action}`];
}
