import type { components } from '@fleet/api-client';
import { changedFields } from '../../common/forms/changed-fields.ts';

type Partner = components['schemas']['Partner'];

/** A partner as the form edits it: lists have one value a line, and an empty text is an absent value. */
export interface PartnerForm {
  readonly name: string;
  readonly imei_prefixes: string;
  readonly ip_allowlist: string;
  readonly command_url: string;
  /** Never read back; empty leaves the stored token. */
  readonly command_token: string;
  readonly command_level: Partner['command_level'];
  /** Of the authenticator app; required to change the level. */
  readonly code: string;
}

export const toForm = (partner: Partner | null): PartnerForm => ({
  name: partner?.name ?? '',
  imei_prefixes: partner?.imei_prefixes.join('\n') ?? '',
  ip_allowlist: partner?.ip_allowlist.join('\n') ?? '',
  command_url: partner?.command_url ?? '',
  command_token: '',
  command_level: partner?.command_level ?? 'standard',
  code: '',
});

const toLines = (text: string): string[] => text.split(/[\s,;]+/).filter((line) => line !== '');

/** Returns the body of a request. The level and the URL are sent only if they differ, because both have an effect. */
export function toBody(form: PartnerForm, partner: Partner | null): { name: string } & Record<string, unknown> {
  const { command_url: url, command_token: token, command_level: level } = form;
  const isUrlChanged = url.trim() !== (partner?.command_url ?? '');
  return {
    name: form.name.trim(),
    imei_prefixes: toLines(form.imei_prefixes),
    ip_allowlist: toLines(form.ip_allowlist),
    ...(isUrlChanged ? { command_url: url.trim() === '' ? null : url.trim() } : {}),
    ...(token === '' ? {} : { command_token: token }),
    ...(level === (partner?.command_level ?? 'standard') ? {} : { command_level: level }),
    ...(form.code.trim() === '' ? {} : { code: form.code.trim() }),
  };
}

/** Returns the fields that differ from the stored partner. */
export const toChange = (form: PartnerForm, partner: Partner): Partial<ReturnType<typeof toBody>> =>
  changedFields(toBody(toForm(partner), partner), toBody(form, partner));
