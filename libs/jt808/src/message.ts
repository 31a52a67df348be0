import type { Edition } from './edition.ts';
import { BodyError } from './errors.ts';
import { type Field, type Fields, formatFields, readFields, type ValuesOf, writeFields } from './fields/index.ts';
import { Reader } from './reader.ts';
import { Writer } from './writer.ts';

/** Sender of a message. */
export type Sender = 'terminal' | 'platform';

/** Specification of a message; the body's fields are in wire order. */
export interface MessageSpec<N extends string, F extends Fields> {
  id: number;
  name: N;
  from: Sender;
  /** Section of the standard that defines the message. */
  reference: string;
  /** Editions that have the message; all editions if absent. */
  editions?: readonly Edition[];
  /** Ids of the responses, the specific one first. */
  responseIds?: readonly number[];
  body: F;
  /** Complete field order of an edition, where conditional fields cannot express it. */
  layouts?: Partial<Record<Edition, Fields>>;
  /** Returns the edition whose layout a received body actually has. */
  layoutOf?: (body: Buffer, edition: Edition) => Edition;
  /** Adds information that depends on the whole body to the log form. */
  format?: (out: Record<string, unknown>, body: Readonly<Record<string, unknown>>) => void;
}

type Entries = readonly (readonly [string, Field<unknown>])[];

/** One message as a table of typed fields, from which reader, writer, type and documentation are derived. */
export interface MessageDefinition<N extends string = string, F extends Fields = Fields> extends MessageSpec<N, F> {
  readonly entries: Readonly<Record<Edition, Entries>>;
  /** Every field of every layout, for the log form. */
  readonly loggedEntries: Entries;
}

/**
 * Body of a message. `trailing` contains the bytes after the last known field (a vendor's, or of a later revision), so
 * that they survive decoding and encoding.
 */
export type BodyOf<D> = D extends { body: infer F } ? ValuesOf<F> & { trailing?: Buffer | undefined } : never;

/** Validates and completes a specification. */
export function defineMessage<const N extends string, F extends Fields>(
  spec: MessageSpec<N, F>,
): MessageDefinition<N, F> {
  const toEntries = (edition: Edition): Entries => Object.entries(spec.layouts?.[edition] ?? spec.body);
  const entries = { '2011': toEntries('2011'), '2013': toEntries('2013'), '2019': toEntries('2019') };
  const layouts = Object.values(spec.layouts ?? {});
  return { ...spec, entries, loggedEntries: Object.entries(Object.assign({}, ...layouts, spec.body) as Fields) };
}

/** Decodes a whole (joined) body; throws BodyError that names the field at which decoding failed. */
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

/** Result of decoding a received body: an invalid body is a value, not an exception. */
export type BodyResult<T> = { ok: true; body: T } | { ok: false; error: BodyError };

/** Decodes like `decodeBody`, without throwing BodyError. */
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

/** Encodes a body; throws EncodeError that names the field whose value does not fit. */
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

/** Returns the log form of a decoded body: snake_case names, ISO times, hex ids and bytes. */
export function formatBody<D extends MessageDefinition>(definition: D, body: BodyOf<D>): Record<string, unknown> {
  const values: Readonly<Record<string, unknown>> = body;
  const out = formatFields(definition.loggedEntries, values);
  definition.format?.(out, values);
  return out;
}
