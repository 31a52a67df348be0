import type { Outcome } from '@fleet/bus';
import type { UploadStatus } from '@fleet/storage';

/** Responses of a camera, or none. */
export const cameraBehaviours = ['accepts', 'fails', 'malformed', 'unsupported', 'gone', 'silent', 'garbled'] as const;
export type CameraBehaviour = (typeof cameraBehaviours)[number];

/** Events of uploads, each about one of a few clips of one camera. */
export type Step =
  | { readonly kind: 'request' | 'delete' | 'crash'; readonly clip: number }
  | { readonly kind: 'control'; readonly clip: number; readonly action: number }
  /** Effect of bytes, 0x1206 or silence at upload-ftp. */
  | { readonly kind: 'settle'; readonly clip: number; readonly to: 'completed' | 'failed' };

/** Expected response for the caller. */
export interface ExpectedResponse {
  readonly status: number;
  /** `result` of a request, otherwise `status` of the upload. */
  readonly value?: string;
}

/** Result of a step: known immediately, after the camera's response, or after the previous step. */
export type Expectation =
  | { readonly when: 'now'; readonly expected: ExpectedResponse | undefined }
  | { readonly when: 'answered'; readonly finish: (behaviour: CameraBehaviour) => ExpectedResponse }
  | { readonly when: 'other'; readonly after: (other: ExpectedResponse) => Expectation };

const rejections: readonly CameraBehaviour[] = ['fails', 'malformed', 'unsupported'];

/** Outcome of each response at the gateway; a result code for terminal general responses. */
export const outcomes: Record<CameraBehaviour, number | Outcome> = {
  accepts: 0,
  fails: 1,
  malformed: 2,
  unsupported: 3,
  gone: { kind: 'notConnected' },
  silent: { kind: 'timedOut' },
  garbled: { kind: 'unreadable', detail: 'x' },
};

const failures: Partial<Record<CameraBehaviour, number>> = { gone: 404, silent: 504, garbled: 502 };
const isFinal = (status: UploadStatus): boolean => status !== 'uploading' && status !== 'paused';

/** Model of the interface's table of upload states, written independently of the code. */
export class UploadModel {
  readonly status = new Map<number, UploadStatus>();
  /** Commands that the camera must have received. */
  readonly frames: string[] = [];
  /** A request, a control and a resume without a response. */
  #requested: number | undefined;
  #controlled: number | undefined;
  #resumed: number | undefined;

  get #isBusy(): boolean {
    const isSending = [...this.status.values()].includes('uploading');
    return isSending || this.#requested !== undefined || this.#resumed !== undefined;
  }

  apply(step: Step): Expectation {
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

  #request(clip: number): Expectation {
    const current = this.status.get(clip);
    if (current !== undefined) return { when: 'now', expected: { status: 200, value: current } };
    if (this.#requested === clip) return { when: 'other', after: (other) => ({ when: 'now', expected: other }) };
    if (this.#isBusy) return { when: 'now', expected: { status: 409 } };
    this.#requested = clip;
    this.frames.push('request');
    return {
      when: 'answered',
      finish: (behaviour) => {
        this.#requested = undefined;
        if (behaviour !== 'accepts') return { status: failures[behaviour] ?? 502 };
        this.status.set(clip, 'uploading');
        return { status: 200, value: 'success' };
      },
    };
  }

  #control(clip: number, action: number): Expectation {
    const current = this.status.get(clip);
    if (current === undefined) return { when: 'now', expected: { status: 404 } };
    const next = nextStatus(current, action);
    if (next === undefined) return { when: 'now', expected: { status: 409 } };
    if (this.#controlled === clip)
      return {
        when: 'other',
        after: () =>
          this.status.get(clip) === current
            ? this.#control(clip, action)
            : { when: 'now', expected: { status: this.status.has(clip) ? 409 : 404 } },
      };
    if (action === 1 && this.#isBusy) return { when: 'now', expected: { status: 409 } };
    this.#controlled = clip;
    if (action === 1) this.#resumed = clip;
    this.frames.push(`control ${action}`);
    return {
      when: 'answered',
      finish: (behaviour) => {
        this.#controlled = undefined;
        if (action === 1) this.#resumed = undefined;
        return this.#afterControl(clip, current, next, behaviour);
      },
    };
  }

  #afterControl(clip: number, current: UploadStatus, next: UploadStatus, behaviour: CameraBehaviour): ExpectedResponse {
    const failure = failures[behaviour];
    if (failure !== undefined) return { status: failure };
    if (this.status.get(clip) !== current) return { status: 409 };
    if (rejections.includes(behaviour)) return { status: 200, value: current };
    this.status.set(clip, next);
    return { status: 200, value: next };
  }

  #delete(clip: number): ExpectedResponse {
    const status = this.status.get(clip);
    if (status === undefined) return { status: 404 };
    if (!isFinal(status)) return { status: 403 };
    this.status.delete(clip);
    return { status: 200, value: status };
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
