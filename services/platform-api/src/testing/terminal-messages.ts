import { eventHeaders, eventSubject, headers } from '@fleet/bus';
import { type BodyOf, type Edition, encodeBody, type MessageDefinition } from '@fleet/jt808';
import type { Deps } from '../platform/deps.ts';

/** Publishes a message of a terminal to EVENTS, as a gateway does. */
export async function publishTerminalMessage<D extends MessageDefinition>(
  { bus }: Pick<Deps, 'bus'>,
  imei: string,
  definition: D,
  body: BodyOf<D>,
  { edition = '2013', receivedAtMs = Date.now() }: { edition?: Edition; receivedAtMs?: number } = {},
): Promise<void> {
  const head = headers();
  head.set(eventHeaders.edition, edition);
  head.set(eventHeaders.receivedAtMs, String(receivedAtMs));
  await bus.js.publish(eventSubject(imei, definition.id), encodeBody(definition, body, edition), { headers: head });
}
