import { DurableConsumer, eventSubject, type JetStreamMessage, parseTerminalEvent } from '@fleet/bus';
import { type BodyOf, type Edition, type MessageDefinition, tryDecodeBody } from '@fleet/jt808';
import type { Running } from '@fleet/service-kit';
import type { EventConsumerDeps } from './vehicle-events.ts';

/** A decoded uplink message. */
export interface TerminalMessage<B> {
  /** Canonical terminal number. */
  readonly imei: string;
  readonly edition: Edition;
  readonly body: B;
  readonly receivedAtMs: number;
}

/** A message and its handler. */
export interface TerminalHandler<D extends MessageDefinition = MessageDefinition> {
  readonly definition: D;
  /** Name of the durable consumer, shared by all replicas. Default: `platform-` and the name of the message. */
  readonly durable?: string;
  /** One after the other, if their order matters. */
  readonly isInOrder?: boolean;
  handle(deps: EventConsumerDeps, message: TerminalMessage<BodyOf<D>>): Promise<void>;
}

const durableNameOf = ({ name }: MessageDefinition): string =>
  `platform-${name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;

/** Starts to consume uplink messages of one kind from EVENTS; each is acknowledged once its handler has succeeded. */
export function startTerminalMessageConsumer<D extends MessageDefinition>(
  deps: EventConsumerDeps,
  handler: TerminalHandler<D>,
): Running {
  const { bus, log } = deps;
  const { definition, durable = durableNameOf(definition), isInOrder = false } = handler;
  return new DurableConsumer(bus, {
    stream: 'EVENTS',
    durable,
    subject: eventSubject('*', definition.id),
    ...(isInOrder ? { maxInFlight: 1 } : {}),
    onError: (error) => log.warn({ err: error, message: definition.name }, 'could not handle an uplink message yet'),
    handler: async (message) => {
      const parsed = parseMessage(definition, message);
      // It will never become valid.
      if (parsed === null) return log.warn({ subject: message.subject }, 'invalid uplink message');
      await handler.handle(deps, parsed);
    },
  });
}

function parseMessage<D extends MessageDefinition>(
  definition: D,
  message: JetStreamMessage,
): TerminalMessage<BodyOf<D>> | null {
  const event = parseTerminalEvent(message);
  const parsed = tryDecodeBody(definition, event.body, event.edition);
  return parsed.ok ? { ...event, body: parsed.body } : null;
}
