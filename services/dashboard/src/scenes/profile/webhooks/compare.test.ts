import { describe, expect, it } from '@jest/globals';
import { type ComparedWebhook, findChangedFields } from './compare.ts';

const base: ComparedWebhook = {
  url: 'https://a.example/',
  name: null,
  notification_types: ['sos', 'overspeed'],
  vehicle_ids: [1, 2],
  headers: { 'X-A': '1', 'X-B': '2' },
  enabled: true,
};

describe('the changed fields of a webhook', () => {
  it('are those whose values differ', () => {
    const other = { ...base, name: 'ERP', vehicle_ids: [1], headers: { 'X-A': '2', 'X-B': '2' }, enabled: false };
    expect(findChangedFields(base, other)).toEqual(['name', 'vehicle_ids', 'headers', 'enabled']);
  });

  it('do not depend on the order of lists and headers', () => {
    const other = {
      ...base,
      notification_types: ['overspeed', 'sos'],
      vehicle_ids: [2, 1],
      headers: { 'X-B': '2', 'X-A': '1' },
    };
    expect(findChangedFields(base, other)).toEqual([]);
  });
});
