import { BusError, callUseCase, locateClip } from '@fleet/bus';
import {
  AppError,
  type ClipFormat,
  proxyUpstream,
  type RequestContext,
  signClipPath,
  upstreamUnreachable,
} from '@fleet/service-kit';
import { isExternalUpload } from '@fleet/storage';
import type { Deps } from '../deps.ts';
import { findUpload } from './find-upload.ts';

const locateTimeoutMs = 3_000;
const urlLifetimeMs = 60_000;
const resourceName = 'video';

type ClipDeps = Pick<Deps, 'bus' | 'config' | 'stopped' | 'uploads'>;

/** Proxies a completed upload's video, or the requested range, from its pod at the caller's speed. */
export async function pipeClip(
  deps: ClipDeps,
  clip: { readonly uploadId: string; readonly format: ClipFormat },
  context: RequestContext,
): Promise<void> {
  const upload = await findUpload(deps, clip.uploadId);
  if (upload.status !== 'completed' || upload.server === null)
    throw new AppError('state_conflict', `The upload is ${upload.status}: only a completed one can be downloaded.`);
  if (isExternalUpload(upload))
    throw new AppError('state_conflict', 'The clip is on an external FTP server and cannot be downloaded here.');
  const baseUrl = await locateBaseUrl(deps, upload.server.podId, context);
  const url = signClipPath(deps.config.CLIPS_SIGNING_SECRET, { ...clip, baseUrl, lifetimeMs: urlLifetimeMs });
  const timeoutMs = Math.max(1, deps.config.REQUEST_TIMEOUT_MS - (performance.now() - context.receivedAtMs));
  await proxyUpstream({ url, resourceName, timeoutMs, stopSignal: deps.stopped }, context);
}

async function locateBaseUrl(deps: ClipDeps, podId: string, context: RequestContext): Promise<string> {
  try {
    const options = { timeoutMs: locateTimeoutMs, correlationId: context.requestId };
    return (await callUseCase(deps.bus, locateClip(podId), {}, options)).httpUrl;
  } catch (cause) {
    if (!(cause instanceof BusError)) throw cause;
    throw upstreamUnreachable(resourceName, cause);
  }
}
