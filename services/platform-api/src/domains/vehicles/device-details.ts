import { type BodyOf, type MessageDefinition, queryAttributesResponse, terminalRegistration } from '@fleet/jt808';
import { type Static, type TSchema, Type } from 'typebox';
import { nullable } from '../../platform/schemas.ts';

/** Details that a terminal reports about itself, by their names in responses; null until reported. */
export const deviceDetailSchemas = {
  manufacturer: nullable(Type.String()),
  model: nullable(Type.String()),
  terminal_id: nullable(Type.String()),
  iccid: nullable(Type.String()),
  firmware: nullable(Type.String()),
} satisfies Record<string, TSchema>;

type Schemas = typeof deviceDetailSchemas;
type CamelCase<S extends string> = S extends `${infer A}_${infer B}` ? `${A}${Capitalize<CamelCase<B>>}` : S;

/** Details as responses contain them. */
type DeviceDetails = { readonly [K in keyof Schemas]: Static<Schemas[K]> };

/** Details as they are stored: in camelCase, without those that were not reported. */
export type StoredDeviceDetails = { readonly [K in keyof Schemas as CamelCase<K>]?: NonNullable<DeviceDetails[K]> };

/** A message in which a terminal reports details about itself. */
interface DetailMessage<D extends MessageDefinition = MessageDefinition> {
  readonly definition: D;
  /** Name of the durable consumer, if it is not derived from the message. */
  readonly durable?: string;
  readonly read: (body: BodyOf<D>) => Partial<DeviceDetails>;
}

const row = <D extends MessageDefinition>(message: DetailMessage<D>): DetailMessage => ({
  ...message,
  read: (body) => message.read(body as BodyOf<D>),
});

export const detailMessages: readonly DetailMessage[] = [
  row({
    definition: terminalRegistration,
    durable: 'platform-registrations',
    read: ({ manufacturerId, terminalModel, terminalId }) => ({
      manufacturer: manufacturerId,
      model: terminalModel,
      terminal_id: terminalId,
    }),
  }),
  row({
    definition: queryAttributesResponse,
    durable: 'platform-attributes',
    read: ({ manufacturerId, terminalModel, terminalId, iccid, firmwareVersion }) => ({
      manufacturer: manufacturerId,
      model: terminalModel,
      terminal_id: terminalId,
      // 19 digits are padded with an F.
      iccid: iccid.replace(/F+$/i, ''),
      firmware: firmwareVersion,
    }),
  }),
];

const camelCase = (name: string): string => name.replace(/_(\w)/g, (_match, letter: string) => letter.toUpperCase());

/** Returns the text without the blanks and zeros with which terminals pad it. An empty text is unknown. */
export function trimPadding(value: string): string | null {
  const trimmed = value.replaceAll('\0', '').trim();
  return trimmed === '' ? null : trimmed;
}

/** Returns reported details in the form in which they are stored. */
export const toStoredDetails = (details: Partial<DeviceDetails>): StoredDeviceDetails =>
  Object.fromEntries(
    Object.entries(details).flatMap(([name, value]) => {
      const known = typeof value === 'string' ? trimPadding(value) : value;
      return known === null ? [] : [[camelCase(name), known]];
    }),
  );

/** Returns stored details in the form of responses. */
export function toDetailsResponse(stored: StoredDeviceDetails): DeviceDetails {
  const values: Readonly<Record<string, unknown>> = stored;
  const entries = Object.keys(deviceDetailSchemas).map((name) => [name, values[camelCase(name)] ?? null]);
  return Object.fromEntries(entries) as DeviceDetails;
}
