import { describe, expect, it } from '@jest/globals';
import { toBody, toChange, toForm } from './partner-form.ts';

const partner = {
  name: 'Hub',
  imei_prefixes: ['8681'],
  ip_allowlist: [],
  command_url: 'https://hub.example',
  command_level: 'standard',
} as unknown as NonNullable<Parameters<typeof toForm>[0]>;

describe('the form of a partner', () => {
  it('sends neither URL, token nor level if they are unchanged', () => {
    expect(toBody(toForm(partner), partner)).toEqual({ name: 'Hub', imei_prefixes: ['8681'], ip_allowlist: [] });
  });

  it('reads lists by lines, commas and spaces', () => {
    const form = { ...toForm(null), name: ' Hub ', imei_prefixes: '8681, 8682\n8683 ', ip_allowlist: '10.0.0.0/8' };
    expect(toBody(form, null)).toEqual({
      name: 'Hub',
      imei_prefixes: ['8681', '8682', '8683'],
      ip_allowlist: ['10.0.0.0/8'],
    });
  });

  it('clears a URL that was emptied, and sends a new token and level', () => {
    const form = {
      ...toForm(partner),
      command_url: '',
      command_token: 'x',
      command_level: 'critical' as const,
      code: '1',
    };
    expect(toBody(form, partner)).toMatchObject({
      command_url: null,
      command_token: 'x',
      command_level: 'critical',
      code: '1',
    });
  });

  it('changes only the fields that differ from the stored partner', () => {
    expect(toChange(toForm(partner), partner)).toEqual({});
    const form = { ...toForm(partner), ip_allowlist: '10.0.0.0/8', command_token: 'x' };
    expect(toChange(form, partner)).toEqual({ ip_allowlist: ['10.0.0.0/8'], command_token: 'x' });
  });
});
