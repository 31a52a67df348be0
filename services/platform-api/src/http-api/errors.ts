import { type AppError, createErrorHandlers, type Logger } from '@fleet/service-kit';
import type { ErrorRequestHandler, RequestHandler } from 'express';

/** Returns the error body of the Platform API (docs/reference/conventions.md). */
export const renderPlatformError = (error: AppError, requestId: string) => ({
  status: error.status,
  error: error.message,
  code: error.code,
  request_id: requestId,
  ...(error.details.length === 0 ? {} : { details: error.details }),
});

export const createPlatformErrorHandlers = (log: Logger): [RequestHandler, ErrorRequestHandler] =>
  createErrorHandlers(log, renderPlatformError);
