import type { ErrorRequestHandler, NextFunction, Request, RequestHandler, Response } from 'express';
import { type Logger, redactUrl } from '../runtime/log.ts';
import { AppError } from './errors.ts';
import { isLastResponse, sendLastResponse } from './last-response.ts';
import { getErrorRenderer, getRequestContext } from './request-context.ts';

/**
 * Creates the last two handlers of an app: 404 for unknown paths, and every error as the JSON body that `render`
 * creates.
 */
export function createErrorHandlers(
  log: Logger,
  render: (error: AppError, requestId: string) => unknown = apiError,
): [RequestHandler, ErrorRequestHandler] {
  const notFound: RequestHandler = (request) => {
    if (!isDecodable(request.path)) throw new AppError('validation_failed', 'The path is not valid percent-encoding.');
    throw new AppError('not_found', `There is no ${request.method} ${request.path}.`);
  };
  const onError: ErrorRequestHandler = (error: unknown, request: Request, response: Response, _next: NextFunction) => {
    const appError = toAppError(error);
    const context = getRequestContext(request, response, log);
    if (appError.status >= 500) {
      // Faults of a device or a backend are logged with their reason; only internal faults have a stack.
      const detail = { status: appError.status, url: redactUrl(request.originalUrl) };
      if (appError.status === 500) context.log.error({ ...detail, err: appError.cause ?? appError }, appError.message);
      else context.log.warn({ ...detail, reason: causeMessage(appError.cause) }, appError.message);
    }
    if (response.headersSent) {
      response.destroy();
      return;
    }
    const rendered = (getErrorRenderer(context) ?? render)(appError, context.requestId);
    response.status(appError.status).set(appError.headers);
    if (isLastResponse(request, appError.status))
      sendLastResponse(request, response.type('json'), JSON.stringify(rendered));
    else response.json(rendered);
  };
  return [notFound, onError];
}

function isDecodable(path: string): boolean {
  try {
    decodeURIComponent(path);
    return true;
  } catch {
    // Only malformed input gets here.
    return false;
  }
}

/** Returns the error body of the Device API, with exactly its two fields. */
export const apiError = (error: AppError): { status: number; error: string } => ({
  status: error.status,
  error: error.message,
});

const causeMessage = (cause: unknown): string | undefined => (cause instanceof Error ? cause.message : undefined);

function toAppError(error: unknown): AppError {
  if (error instanceof AppError) return error;
  const { type, status } = (error ?? {}) as { type?: string; status?: number };
  if (type === 'entity.too.large') return new AppError('body_too_large', 'The request body is too large.');
  if (type === 'entity.parse.failed') return new AppError('malformed_json', 'The request body is not valid JSON.');
  if (type === 'charset.unsupported' || type === 'encoding.unsupported')
    return new AppError('unsupported_media_type', 'The encoding of the request body is not supported.');
  if (status !== undefined && status >= 400 && status < 500)
    return new AppError('validation_failed', 'The request could not be read.', { cause: error });
  return new AppError('internal', 'An unexpected error occurred.', { cause: error });
}
