import {
  type Bus,
  DurableConsumer,
  eventSubject,
  type JetStreamMessage,
  parseTerminalEvent,
  RetryLater,
} from '@fleet/bus';
import { fileUploadResult, tryDecodeBody } from '@fleet/jt808';
import { dayMs, type Logger } from '@fleet/service-kit';
import type { UploadMetrics } from '../metrics.ts';
import { type ApplyResultDeps, applyResult, type UploadResult } from '../use-cases/apply-result.ts';

/** A 0x1206 that matches no upload for this time is discarded. */
const unmatchedTimeoutMs = dayMs;

/** Reads every 0x1206 that the gateways have stored and acknowledges each once its effect is in the record. */
export function consumeUploadResults(
  bus: Bus,
  { metrics, log, ...deps }: ApplyResultDeps & { readonly metrics: UploadMetrics; readonly log: Logger },
): DurableConsumer {
  return new DurableConsumer(bus, {
    stream: 'EVENTS',
    durable: 'upload-ftp-results',
    subject: eventSubject('*', fileUploadResult.id),
    onError: (error) => log.warn({ err: error }, 'could not apply an upload result, retrying'),
    handler: async (message) => {
      const result = parseResult(message);
      if (result === null) {
        metrics.results.inc({ outcome: 'unreadable' });
        log.warn({ subject: message.subject }, 'could not decode an upload result (0x1206)');
        return;
      }
      try {
        const outcome = await applyResult(deps, result);
        metrics.results.inc({ outcome });
        log.info({ ...result, outcome }, 'received an upload result');
      } catch (error) {
        if (!(error instanceof RetryLater) || Date.now() - message.storedAtMs < unmatchedTimeoutMs) throw error;
        metrics.results.inc({ outcome: 'unmatched' });
      }
    },
  });
}

function parseResult(message: JetStreamMessage): UploadResult | null {
  const { imei, edition, body, receivedAtMs } = parseTerminalEvent(message);
  const decoded = tryDecodeBody(fileUploadResult, body, edition);
  return decoded.ok
    ? { imei, commandSerialNo: decoded.body.replySerial, code: decoded.body.result, receivedAtMs }
    : null;
}
