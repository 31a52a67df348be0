import { ApiFailure } from '@fleet/api-client';
import { lazy, Suspense, useEffect } from 'react';
import { useTranslation } from 'react-i18next';
import { formatTime } from './format.ts';
import { LiveVideo } from './parts/live-video.tsx';
import { Notice } from './parts/notice.tsx';
import { PasswordForm } from './parts/password-form.tsx';
import { TripFacts } from './parts/trip-facts.tsx';
import type { ShareState } from './share-state.ts';
import type { Guest } from './shared-view.ts';
import { useSharedView } from './use-shared-view.ts';
import './share.css';

// State and arrival are readable before the map has loaded.
const VehicleMap = lazy(async () => ({ default: (await import('./parts/vehicle-map.tsx')).VehicleMap }));

/** Shows one vehicle for a guest: map, state, time of arrival, and live video if the link includes it. */
export function SharePage({ slug }: { readonly slug: string }) {
  const { t } = useTranslation('share');
  const { state, lostSinceMs, open, guest } = useSharedView(slug);
  if (state.kind === 'opening')
    return (
      <main className="share-notice" role="status">
        <p>{t('common:loading.title')}</p>
      </main>
    );
  if (state.kind === 'locked') return <PasswordForm isWrong={state.isWrong} onSubmit={open} />;
  if (state.kind === 'ended')
    return (
      <Notice title={t(`ended.${state.reason}`)}>{state.reason === 'unknown' ? null : <p>{t('renew')}</p>}</Notice>
    );
  if (state.kind === 'failed') return <Failed error={state.error} onRetry={() => void open(null)} />;
  return <Vehicle guest={guest} shared={state} lostSinceMs={lostSinceMs} />;
}

function Failed({ error, onRetry }: { readonly error: unknown; readonly onRetry: () => void }) {
  const { t } = useTranslation('share');
  const failure = error instanceof ApiFailure ? error : null;
  return (
    <Notice title={t('common:failure.title')}>
      <p role="alert">
        {failure === null ? t('common:failure.unknown') : t(failure.status === 429 ? 'tooMany' : 'failed')}
      </p>
      <button type="button" className="share-button" onClick={onRetry}>
        {t('common:failure.retry')}
      </button>
      {failure === null || failure.requestId === null ? null : (
        <p className="share-hint">{t('common:failure.requestId', { id: failure.requestId })}</p>
      )}
    </Notice>
  );
}

interface VehicleProps {
  readonly guest: Guest;
  readonly shared: Extract<ShareState, { kind: 'open' }>;
  readonly lostSinceMs: number | null;
}

function Vehicle({ guest, shared, lostSinceMs }: VehicleProps) {
  const { t, i18n } = useTranslation('share');
  const { view } = shared;
  const { vehicle, location, label, expires_at: expiresAt } = view;
  const title = label ?? vehicle.name;
  useEffect(() => {
    document.title = title;
  }, [title]);
  const format = (timeMs: number): string => formatTime(timeMs, Date.now(), i18n.language);
  return (
    <main className="share-page" data-has-map={location !== null}>
      <header>
        <h1>{title}</h1>
        {vehicle.vehicle_no === title ? null : <span>{vehicle.vehicle_no}</span>}
        <span className="share-end">{t('expires', { time: format(Date.parse(expiresAt)) })}</span>
      </header>
      {lostSinceMs === null ? null : (
        <p className="share-lost" role="status">
          {t('disconnected', { time: format(lostSinceMs) })}
        </p>
      )}
      {location === null ? null : (
        <Suspense fallback={<div className="share-map" />}>
          <VehicleMap view={view} location={location} />
        </Suspense>
      )}
      <div className="share-panel">
        <TripFacts shared={shared} />
        <LiveVideo guest={guest} channels={view.channels} />
      </div>
    </main>
  );
}
