import { ApiFailure } from '@fleet/api-client';
import { describe, expect, it } from '@jest/globals';
import { toFieldErrors } from './faults.ts';

describe('the faults of a refused form', () => {
  it('belong to the fields that their paths name', () => {
    const details = [
      { path: '/vehicle_no', message: 'must not be empty' },
      { path: '/channels/0/name', message: 'is too long' },
      { path: '', message: 'must be an object' },
    ];
    const fields = { status: 400, code: 'validation_failed', details, requestId: null, retryAfterSeconds: null };
    expect(toFieldErrors(new ApiFailure('The body is not valid.', fields))).toEqual({
      vehicle_no: 'must not be empty',
      channels: 'is too long',
    });
  });

  it('are none for other errors', () => {
    expect(toFieldErrors(new Error('no'))).toEqual({});
  });
});
