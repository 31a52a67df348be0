import { ApiFailure, createPlatformClient } from '@fleet/api-client';
import { Button, PasswordInput, Stack } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { getRouteApi } from '@tanstack/react-router';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { MapView } from '../../common/map/map-view.tsx';
import { StateMark } from '../../common/ui/marks.tsx';
import { Empty, Failure, Loading } from '../../common/ui/states.tsx';
import { useLiveView } from './use-live-view.ts';
import './share.css';

const route = getRouteApi('/share/$slug');

/** Guests have no credentials: the slug gives the access. */
const api = createPlatformClient({
  baseUrl: window.location.origin,
  getCredentials: () => ({ apiKey: null, accessToken: null }),
});

/** Shows one vehicle for a guest: map, state and time of arrival. */
export function SharePage() {
  const { t, i18n } = useTranslation('share');
  const { slug } = route.useParams();
  const [password, setPassword] = useState<string | null>(null);
  const opened = useQuery({
    queryKey: ['openShareLink', slug, password],
    queryFn: async () => {
      const header = password === null ? {} : { 'X-Share-Password': password };
      const { data } = await api.GET('/api/public/share-links/{slug}', { params: { path: { slug }, header } });
      if (data === undefined) throw new Error('The server returned no view.');
      return data.data;
    },
    // Each request counts as a view. The websocket keeps the view current.
    staleTime: Number.POSITIVE_INFINITY,
    refetchOnWindowFocus: false,
    refetchOnReconnect: false,
  });
  const { view, hasEnded } = useLiveView(opened.data);
  if (hasEnded) return <Empty title={t('ended')} />;
  if (opened.isError) {
    if (isPasswordMissing(opened.error)) return <PasswordForm isWrong={password !== null} onSubmit={setPassword} />;
    if (opened.error instanceof ApiFailure && [404, 410].includes(opened.error.status))
      return <Empty title={t(opened.error.status === 404 ? 'unknown' : 'ended')} />;
    return <Failure error={opened.error} onRetry={() => void opened.refetch()} />;
  }
  if (view === undefined) return <Loading />;
  const { vehicle, location, track, label, eta, expires_at: expiresAt } = view;
  const { state } = view;
  const formatTime = (time: string | number): string =>
    new Intl.DateTimeFormat(i18n.language, { dateStyle: 'short', timeStyle: 'short' }).format(new Date(time));
  return (
    <main className="share-page">
      <header>
        <h1>{label ?? vehicle.name}</h1>
        <span>{t('expires', { time: formatTime(expiresAt) })}</span>
      </header>
      {location === null ? (
        <Empty title={t('noPosition')} />
      ) : (
        <MapView
          vehicles={[{ ...location, id: 1, label: vehicle.name, state }]}
          selectedId={1}
          isFollowing
          track={track.map(([latitude = 0, longitude = 0]) => [latitude, longitude] as const)}
        />
      )}
      <footer>
        <span>
          <StateMark state={state} course={location?.course ?? 0} /> {t(`common:state.${state}`)}
        </span>
        {location === null ? null : <span>{`${t('updated')} ${formatTime(location.timestamp)}`}</span>}
        {eta === null ? null : <span>{t('arrives', { time: formatTime(eta) })}</span>}
      </footer>
    </main>
  );
}

const isPasswordMissing = (error: unknown): boolean => error instanceof ApiFailure && error.code === 'share_password';

function PasswordForm({ isWrong, onSubmit }: { isWrong: boolean; onSubmit: (password: string) => void }) {
  const { t } = useTranslation('share');
  const [value, setValue] = useState('');
  return (
    <main className="auth">
      <form
        className="card"
        onSubmit={(event) => {
          event.preventDefault();
          onSubmit(value);
        }}
      >
        <Stack>
          <PasswordInput
            label={t('password')}
            required
            value={value}
            error={isWrong ? t('wrongPassword') : null}
            onChange={({ currentTarget }) => setValue(currentTarget.value)}
          />
          <Button type="submit">{t('open')}</Button>
        </Stack>
      </form>
    </main>
  );
}
