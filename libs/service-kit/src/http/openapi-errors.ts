import { AppError, type ErrorCode, type ErrorDetail, errorCodes } from './errors.ts';
import type { Route } from './route.ts';

type RenderError = NonNullable<Route['renderError']>;

/** A typical error of each status, for examples. */
const typicalErrors: Readonly<Partial<Record<ErrorCode, string>>> = {
  validation_failed: 'The body field name is missing.',
  api_key_invalid: 'The API key is not valid.',
  subscription_expired: 'The subscription of vehicle 7 has expired.',
  permission_denied: 'Your role does not permit this.',
  not_found: 'There is no record 7.',
  request_incomplete: 'The request did not arrive in time.',
  state_conflict: 'The record is in a state that does not permit this.',
  share_link_expired: 'The link has expired.',
  version_mismatch: 'The record has version 8, not 7. Read it and try again.',
  body_too_large: 'The body is too large.',
  unsupported_media_type: 'The body must be application/json in UTF-8.',
  range_not_satisfiable: 'The range lies outside the file.',
  unreadable_document: 'The document could not be read.',
  rate_limited: 'Too many requests. Retry in 2 seconds.',
  headers_too_large: 'The headers of the request are too large.',
  internal: 'An unexpected error occurred.',
  upstream_error: "The device's reply could not be read.",
  unavailable: 'The service is temporarily unavailable. Retry.',
  device_timeout: 'The device did not reply in time.',
};

/** Texts of typical errors in one document, by code. */
export type ErrorTexts = Readonly<Partial<Record<ErrorCode, string>>>;

const details: readonly ErrorDetail[] = [{ path: '/name', message: 'is missing' }];
const requestId = '65bb0a2e9c1d4f5a6b7c8da3';

/** Returns the body that `render` creates for a typical error of a status. A text of `texts` replaces the usual one. */
export function createErrorExample(status: number, render: RenderError, texts: ErrorTexts = {}): unknown {
  const ownTexts = Object.entries({ ...texts, ...typicalErrors });
  const found = ownTexts.find(([code]) => errorCodes[code as ErrorCode] === status);
  if (found === undefined)
    throw new Error(`There is no typical error of status ${status}: add one to openapi-errors.ts.`);
  const code = found[0] as ErrorCode;
  return render(new AppError(code, texts[code] ?? found[1], status === 400 ? { details } : {}), requestId);
}
