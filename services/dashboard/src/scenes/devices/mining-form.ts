import type { components } from '@fleet/api-client';

type MiningDevice = components['schemas']['MiningDevice'];

export const miningTextFields = ['vehicle_no', 'permit_no', 'site', 'owner_name'] as const;

/** A mining device as the form edits it: an empty text is an absent value. */
export interface MiningForm extends Readonly<Record<(typeof miningTextFields)[number] | 'imei', string>> {
  readonly status: MiningDevice['status'];
}

export const toMiningForm = (device: MiningDevice | null): MiningForm => ({
  imei: device?.imei ?? '',
  vehicle_no: device?.vehicle_no ?? '',
  permit_no: device?.permit_no ?? '',
  site: device?.site ?? '',
  owner_name: device?.owner_name ?? '',
  status: device?.status ?? 'pending',
});

const toText = (text: string): string | null => text.trim() || null;

/** Returns the fields that can change. A new device also has its number. */
export const toMiningBody = (form: MiningForm) => ({
  vehicle_no: toText(form.vehicle_no),
  permit_no: toText(form.permit_no),
  site: toText(form.site),
  owner_name: toText(form.owner_name),
  status: form.status,
});
