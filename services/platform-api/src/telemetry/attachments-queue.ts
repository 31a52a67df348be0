import {
  type AttachmentsRequested,
  attachmentsRequestedSubject,
  encodeJson,
  headers,
  JetStreamPublisher,
} from '@fleet/bus';
import { AppError } from '@fleet/service-kit';
import type { Deps } from '../platform/deps.ts';

/** Time-out of a publish; afterwards the broker counts as unavailable. */
const publishTimeoutMs = 10_000;

/** Queues alarms with files in the work queue ATTACHMENTS. */
export class AttachmentsQueue {
  readonly #publisher: JetStreamPublisher;

  constructor({ bus, log }: Pick<Deps, 'bus' | 'log'>) {
    const onRefused = (detail: string): void => log.warn({ detail }, 'attachment requests are not stored yet');
    this.#publisher = new JetStreamPublisher(bus, { timeoutMs: publishTimeoutMs, onRejected: onRefused });
  }

  /** Resolves once all are stored. Rejects otherwise; call it again with the same ones: each is stored once. */
  async store(items: readonly AttachmentsRequested[]): Promise<void> {
    await Promise.all(items.map((item) => this.#store(item)));
  }

  stop(): void {
    this.#publisher.stop();
  }

  #store(item: AttachmentsRequested): Promise<void> {
    return new Promise((resolve, reject) => {
      const head = headers();
      // The end of an alarm may count files that its start did not.
      head.set('Nats-Msg-Id', `${item.dedupeKey}:${item.tagHex}`);
      const done = (isStored: boolean): void => {
        if (isStored) resolve();
        else reject(new AppError('unavailable', 'Attachment requests cannot be stored at the moment. Retry.'));
      };
      if (!this.#publisher.publish(attachmentsRequestedSubject(item.imei), encodeJson(item), done, head)) done(false);
    });
  }
}
