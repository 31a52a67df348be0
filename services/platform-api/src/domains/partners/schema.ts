import { type PartnerCommandLevel, partnerCommandLevels } from '@fleet/bus';
import { paginationQuery, sortParameter } from '@fleet/service-kit';
import { type Static, Type } from 'typebox';
import { nullableField, stringEnum, text, trimmedText } from '../../platform/fields.ts';
import { nullable, recordProperties } from '../../platform/schemas.ts';
import type { AccountRecord } from '../../store/account-repository.ts';

/** A server of another company that sends the reports of its devices, and the token that identifies it. */
export interface Partner extends AccountRecord {
  readonly name: string;
  readonly tokenSha256: string;
  /** Last 4 characters of the token. */
  readonly hint: string;
  /** Prefixes of the numbers that it may report; empty for any number. */
  readonly imeiPrefixes: readonly string[];
  /** Allowed addresses or CIDRs; empty for every address. */
  readonly ipAllowlist: readonly string[];
  /** Base URL of the server that commands its devices; absent on records stored before this field existed. */
  readonly commandUrl?: string | null;
  /** Token for that server; sealed. */
  readonly sealedCommandToken?: string | null;
  /** What it may send to the account's terminals; absent on older records, which means `standard`. */
  readonly commandLevel?: PartnerCommandLevel;
}

const numberPrefixes = Type.Array(Type.String({ pattern: '^\\d{1,20}$', errorMessage: 'must be 1 to 20 digits' }), {
  maxItems: 100,
});
const networks = Type.Array(trimmedText(1, 64), {
  maxItems: 100,
  description: 'Allowed addresses or networks. Default: every address.',
});
const commandUrl = Type.String({
  minLength: 1,
  maxLength: 2000,
  description: 'Base URL of the server that commands the devices through /api/device/sendInstruct; https only.',
  examples: ['https://hub.example.com'],
});
const commandToken = text(1, 256, { description: 'Token for that server; never returned.' });

const commandLevel = stringEnum(partnerCommandLevels, {
  description:
    'What the partner may send to terminals. `standard`: everything except firmware updates, server changes, factory resets, and parameters and texts with the same effect. Default: `standard`. Only an owner can change it.',
});
const levelChange = {
  command_level: Type.Optional(commandLevel),
  code: Type.Optional(
    Type.String({
      maxLength: 20,
      description: 'Code of the authenticator app. Required to change `command_level` if the owner uses one.',
    }),
  ),
};

export const createPartnerBody = Type.Object({
  name: trimmedText(1, 100),
  imei_prefixes: Type.Optional(numberPrefixes),
  ip_allowlist: Type.Optional(networks),
  command_url: Type.Optional(commandUrl),
  command_token: Type.Optional(commandToken),
  ...levelChange,
});
export type CreatePartnerBody = Static<typeof createPartnerBody>;

/** Changing `command_url` clears its token unless a new one is given. The partner's own token does not change. */
export const updatePartnerBody = Type.Object({
  name: Type.Optional(trimmedText(1, 100)),
  imei_prefixes: Type.Optional(numberPrefixes),
  ip_allowlist: Type.Optional(networks),
  command_url: Type.Optional(nullableField(commandUrl)),
  command_token: Type.Optional(nullableField(commandToken)),
  ...levelChange,
});
export type UpdatePartnerBody = Static<typeof updatePartnerBody>;

export const listPartnersQuery = Type.Object({ ...paginationQuery, sort: sortParameter(['id', 'name', 'created_at']) });

const responseFields = {
  ...recordProperties,
  name: Type.String(),
  imei_prefixes: Type.Array(Type.String()),
  ip_allowlist: Type.Array(Type.String()),
  token_hint: Type.String({ description: 'Last 4 characters of the token.' }),
  command_url: nullable(Type.String()),
  has_command_token: Type.Boolean(),
  command_level: commandLevel,
};
export const partnerResponseSchema = Type.Object(responseFields, { title: 'Partner' });
export const partnerWithToken = Type.Object(
  { ...responseFields, token: Type.String({ description: 'Returned only in this response.' }) },
  { title: 'PartnerWithToken' },
);

const items = Type.Unknown({ description: 'The items, at most 500; JSON text in a form.' });

/** Both formats of a push: the vendor hub's `data_list`, and plain `data`. Items are validated one by one. */
export const pushBody = Type.Object(
  {
    token: Type.Optional(
      Type.String({ maxLength: 256, description: 'Token of the partner, instead of the two headers.' }),
    ),
    msgType: Type.Optional(Type.Unknown()),
    data_list: Type.Optional(items),
    data: Type.Optional(items),
  },
  { additionalProperties: true },
);
export type PushBody = Static<typeof pushBody>;

const count = Type.Integer({ minimum: 0 });

export const pushResponse = Type.Object(
  {
    code: Type.Integer({ description: '0' }),
    message: Type.String(),
    data: Type.Object({
      accepted: count,
      duplicates: count,
      rejected: Type.Array(Type.Object({ index: count, reason: Type.String() })),
    }),
  },
  { title: 'PartnerAnswer' },
);

export const pushError = Type.Object(
  {
    code: Type.Integer({
      description: 'Code of the vendor hub: 1001 invalid parameters, 1004 invalid token, 1006 too many requests.',
    }),
    message: Type.String(),
    status: Type.Integer(),
    error: Type.String(),
    request_id: Type.String(),
    details: Type.Optional(Type.Array(Type.Object({ path: Type.String(), message: Type.String() }))),
  },
  { title: 'PartnerError' },
);
