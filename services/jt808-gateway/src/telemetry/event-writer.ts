import { type Bus, eventHeaders, eventSubject, headers, type JetStreamPublisher } from '@fleet/bus';
import type { Edition } from '@fleet/jt808';
import type { Logger } from '@fleet/service-kit';
import type { Session } from '../domain/device.ts';
import type { GatewayMetrics } from '../metrics.ts';

/** Header fields of a published uplink message. */
interface EventHeader {
  readonly messageId: number;
  readonly serialNo: number;
  readonly edition: Edition;
}

/** Writes uplink messages other than locations to JetStream, one message each. */
export class EventWriter {
  /** Size of the largest body that the broker accepts. */
  readonly maxBytes: number;
  readonly #publisher: JetStreamPublisher;
  readonly #metrics: GatewayMetrics;
  readonly #idPrefix = `${process.pid}-${Date.now().toString(36)}`;
  #lastEventNo = 0;

  constructor(options: { publisher: JetStreamPublisher; maxBytes: number; metrics: GatewayMetrics }) {
    this.maxBytes = options.maxBytes;
    this.#publisher = options.publisher;
    this.#metrics = options.metrics;
  }

  /** Publishes a message. Calls `onResult`, and after success `onStored`, once the result is known. */
  write(
    { device, connection, phone }: Session,
    event: EventHeader,
    body: Buffer,
    onStored: () => void = () => undefined,
    onResult?: (isStored: boolean) => void,
  ): void {
    const messageHeaders = headers();
    messageHeaders.set(eventHeaders.phone, phone);
    messageHeaders.set(eventHeaders.edition, event.edition);
    messageHeaders.set(eventHeaders.messageId, event.messageId.toString(16).padStart(4, '0'));
    messageHeaders.set(eventHeaders.serialNo, String(event.serialNo));
    messageHeaders.set(eventHeaders.receivedAtMs, String(connection.receivedAtMs));
    this.#lastEventNo += 1;
    // Deduplicates republished messages. A message repeated by the terminal gets another id.
    messageHeaders.set('Nats-Msg-Id', `${this.#idPrefix}-${this.#lastEventNo}`);
    connection.pendingAcks += 1;
    const done = (isStored: boolean): void => {
      connection.pendingAcks -= 1;
      this.#metrics.events.inc({ result: isStored ? 'stored' : 'dropped' });
      onResult?.(isStored);
      if (isStored) onStored();
    };
    // Copied, as a view of the read buffer would retain all of it until the confirmation.
    const payload = Buffer.from(body);
    if (!this.#publisher.publish(eventSubject(device.imei, event.messageId), payload, done, messageHeaders))
      done(false);
  }
}

/** Split messages are joined up to 8 MiB including overhead. The default limit of a broker is 1 MiB. */
const recommendedMessageBytes = 8_000_000;
const eventHeaderBytes = 4_096;

/** Returns the largest body that the broker accepts in one message. */
export function getMaxEventBytes(bus: Bus, log: Logger): number {
  const maxMessageBytes = bus.nc.info?.max_payload ?? 1_048_576;
  if (maxMessageBytes < recommendedMessageBytes)
    log.warn({ maxMessageBytes }, 'larger pictures will be refused: set max_payload of the broker to 8MB');
  return maxMessageBytes - eventHeaderBytes;
}
