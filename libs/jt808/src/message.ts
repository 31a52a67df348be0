import type { Edition } from './edition.ts';
import { BodyError } from './errors.ts';
import { type Field, type Fields, formatFields, readFields, type ValuesOf, writeFields } from './fields/index.ts';
import { Reader } from './reader.ts';
import { Writer } from './writer.ts';

/** Who sends a message. */
export type Sender = 'terminal' | 'platform';

/** What a message definition states; the body's fields stand in wire order. */
export interface MessageSpec<N extends string, F extends Fields> {
  id: number;
  name: N;
  from: Sender;
  /** Where the standard defines it. */
  reference: string;
  /** Editions that have the message; all of them when absent. */
  editions?: readonly Edition[];
  /** Ids of the answers, the specific one first. */
  answeredBy?: readonly number[];
  body: F;
  /** Whole other field order of an edition, where names alone cannot tell it. */
  layouts?: Partial<Record<Edition, Fields>>;
  /** Edition whose layout a received body really has. */
  layoutOf?: (body: Buffer, edition: Edition) => Edition;
  /** Adds what only the whole body shows to the log form. */
  format?: (out: Record<string, unknown>, body: Readonly<Record<string, unknown>>) => void;
}

type Entries = readonly (readonly [string, Field<unknown>])[];

/** One message as a table of typed fields, from which reader, writer, type and manual follow. */
export interface MessageDefinition<N extends string = string, F extends Fields = Fields> extends MessageSpec<N, F> {
  readonly entries: Readonly<Record<Edition, Entries>>;
  /** Every field of every layout, for the log form. */
  readonly loggedEntries: Entries;
}

/**
 * Body of a message. `trailing` holds bytes behind the last known field (a vendor's, or of a later revision), so that they survive
 * decoding and encoding.
 */
export type BodyOf<D> = D extends { body: infer F } ? ValuesOf<F> & { trailing?: Buffer | undefined } : never;

/** Checks and completes a definition. */
export function defineMessage<const N extends string, F extends Fields>(
  spec: MessageSpec<N, F>,
): MessageDefinition<N, F> {
  const toEntries = (edition: Edition): Entries => Object.entries(spec.layouts?.[edition] ?? spec.body);
  const entries = { '2011': toEntries('2011'), '2013': toEntries('2013'), '2019': toEntries('2019') };
  const layouts = Object.values(spec.layouts ?? {});
  return { ...spec, entries, loggedEntries: Object.entries(Object.assign({}, ...layouts, spec.body) as Fields) };
}

/** Decodes a whole (joined) body; throws BodyError naming the field at which it does not fit. */
export function decodeBody<D extends MessageDefinition>(
  definition: D,
  body: Buffer,
  edition: Edition = '2013',
): BodyOf<D> {
  const layout = definition.layoutOf?.(body, edition) ?? edition;
  const reader = new Reader(body);
  const values = readFields(definition.entries[layout], reader, layout);
  if (reader.remaining > 0) values['trailing'] = reader.takeRemaining();
  return values as BodyOf<D>;
}

/** Outcome of decoding what a device sent: a bad body is a value, not an exception. */
export type BodyResult<T> = { ok: true; body: T } | { ok: false; error: BodyError };

/** Like `decodeBody`, without throwing. */
export function tryDecodeBody<D extends MessageDefinition>(
  definition: D,
  body: Buffer,
  edition: Edition = '2013',
): BodyResult<BodyOf<D>> {
  try {
    return { ok: true, body: decodeBody(definition, body, edition) };
  } catch (error) {
    if (error instanceof BodyError) return { ok: false, error };
    throw error;
  }
}

/** Encodes a body; throws EncodeError naming the field whose value does not fit. */
export function encodeBody<D extends MessageDefinition>(
  definition: D,
  body: BodyOf<D>,
  edition: Edition = '2013',
): Buffer {
  const writer = new Writer();
  writeFields(definition.entries[edition], writer, body, edition);
  const { trailing } = body as { trailing?: Buffer };
  if (trailing !== undefined) writer.put(trailing);
  return writer.finish();
}

/** Log form of a decoded body: snake_case names, ISO times, hex ids and bytes. */
export function formatBody<D extends MessageDefinition>(definition: D, body: BodyOf<D>): Record<string, unknown> {
  const values: Readonly<Record<string, unknown>> = body;
  const out = formatFields(definition.loggedEntries, values);
  definition.format?.(out, values);
  return out;
}
