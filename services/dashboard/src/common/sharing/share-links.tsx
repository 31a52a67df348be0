import { Badge, Button, CopyButton, Group } from '@mantine/core';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useTranslation } from 'react-i18next';
import { readAllPages, useVehicles } from '../fleet/queries.ts';
import { useFormat } from '../format/preferences-context.ts';
import { useSession } from '../session/session-context.ts';
import { Empty, Failure, Loading } from '../ui/states.tsx';

/** Shows live share links of one vehicle, or of all, with their views; each can be revoked. */
export function ShareLinks({ vehicleId }: { vehicleId?: number }) {
  const { t } = useTranslation('sharing');
  const { api } = useSession();
  const queries = useQueryClient();
  const format = useFormat();
  const numbers = new Map(useVehicles().data?.map((vehicle) => [vehicle.id, vehicle.vehicle_no]));
  const links = useQuery({
    queryKey: ['listShareLinks', vehicleId ?? 'all'],
    queryFn: () =>
      readAllPages(async (page) => {
        const query = { ...page, active: true, ...(vehicleId === undefined ? {} : { vehicle_id: vehicleId }) };
        return (await api.GET('/api/share-links', { params: { query } })).data?.data;
      }),
  });
  const revoke = useMutation({
    mutationFn: (id: number) => api.DELETE('/api/share-links/{slug}', { params: { path: { slug: id } } }),
    onSettled: () => queries.invalidateQueries({ queryKey: ['listShareLinks'] }),
  });
  if (links.isPending) return <Loading />;
  if (links.isError) return <Failure error={links.error} onRetry={() => void links.refetch()} />;
  if (links.data.length === 0) return <Empty title={t('noLinks')} />;
  return (
    <>
      {revoke.isError ? <Failure error={revoke.error} /> : null}
      <div className="table-scroll">
        <table className="data" aria-label={t('links')}>
          <thead>
            <tr>
              <th>{t('label')}</th>
              <th>{t('vehicle')}</th>
              <th>{t('permissions')}</th>
              <th>{t('views')}</th>
              <th>{t('expires')}</th>
              <th>{t('actions')}</th>
            </tr>
          </thead>
          <tbody>
            {links.data.map((link) => (
              <tr key={link.id}>
                <td>
                  {link.label ?? link.slug}{' '}
                  {link.has_password ? (
                    <Badge variant="default" miw="max-content">
                      {t('password')}
                    </Badge>
                  ) : null}
                </td>
                <td>
                  <Link to="/vehicles/$vehicleId" params={{ vehicleId: String(link.vehicle_id) }}>
                    {numbers.get(link.vehicle_id) ?? link.vehicle_id}
                  </Link>
                </td>
                <td>
                  {['view' as const, ...(link.permissions.includes('live_video') ? (['live_video'] as const) : [])]
                    .map((name) => t(`permission.${name}`))
                    .join(', ')}
                </td>
                <td>{link.max_views === null ? link.view_count : `${link.view_count} / ${link.max_views}`}</td>
                <td>{format.dateTime(Date.parse(link.expires_at))}</td>
                <td>
                  <Group gap="xs" wrap="nowrap">
                    <CopyButton value={link.url}>
                      {({ copied, copy }) => (
                        <Button size="compact-sm" variant="default" onClick={copy}>
                          {t(copied ? 'common:action.copied' : 'copyLink')}
                        </Button>
                      )}
                    </CopyButton>
                    <Button
                      component="a"
                      href={link.url}
                      target="_blank"
                      rel="noreferrer"
                      size="compact-sm"
                      variant="default"
                    >
                      {t('open')}
                    </Button>
                    <Button size="compact-sm" variant="outline" color="critical" onClick={() => revoke.mutate(link.id)}>
                      {t('revoke')}
                    </Button>
                  </Group>
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </>
  );
}
