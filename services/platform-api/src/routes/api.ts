import { AppError, apiErrors, contextOf, type Logger } from '@fleet/service-kit';
import { type ErrorRequestHandler, type RequestHandler, Router } from 'express';
import { keyHash } from '../domains/api-keys/rules.ts';
import { verifyKey } from '../domains/api-keys/use-cases.ts';
import type { Records } from '../store/records.ts';

/** The error body of the Platform API (platform-contract.md, section 1.4). */
export const platformError = (error: AppError, requestId: string) => ({
  status: error.status,
  error: error.message,
  code: error.code,
  request_id: requestId,
  ...(error.details.length === 0 ? {} : { details: error.details }),
});

/** Paths under `/api` tell nothing to a caller without a valid key: 401 before 404. */
export function apiRoutes(records: Records, log: Logger): Router {
  const router = Router();
  router.use(async (request, response, next) => {
    contextOf(request, response, log);
    const key = request.get('x-api-key');
    if (key === undefined || key === '')
      throw new AppError('api_key_missing', 'An API key is required in the header x-api-key.');
    if ((await findKey(records, key)) === null) throw new AppError('api_key_invalid', 'The API key is not valid.');
    next();
  });
  return router;
}

async function findKey(records: Records, key: string): Promise<unknown> {
  try {
    return await verifyKey(records, keyHash(key));
  } catch (cause) {
    throw new AppError('unavailable', 'The API key can not be checked at the moment.', { cause });
  }
}

export const errorRoutes = (log: Logger): [RequestHandler, ErrorRequestHandler] => apiErrors(log, platformError);
