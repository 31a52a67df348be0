import { describe, expect, it } from '@jest/globals';
import { chooseBucket, countKey } from './rate-limits.ts';

const [server, asha, ravi] = [
  { userId: 1, keyId: 5, isDashboard: false },
  { userId: 2, keyId: 9, isDashboard: true },
  { userId: 3, keyId: 9, isDashboard: true },
];

describe('requests with the dashboard key of an account', () => {
  it('have one bucket for each user, also for geocoding', () => {
    expect([asha, ravi].map((caller) => countKey('key', caller, '10.0.0.1'))).toEqual(['user:2', 'user:3']);
    expect(chooseBucket('platform', asha)).toBe('dashboard');
    expect(chooseBucket('geocode', asha)).toBe('geocode');
  });

  it('do not change how other API keys are counted', () => {
    expect(countKey('key', server, '10.0.0.1')).toBe('key:5');
    expect(chooseBucket('platform', server)).toBe('platform');
    expect(chooseBucket('platform', undefined)).toBe('platform');
  });
});
