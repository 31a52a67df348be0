import { Button } from '@mantine/core';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useTranslation } from 'react-i18next';
import { readAllPages } from '../fleet/queries.ts';
import { useFormat } from '../format/preferences-context.ts';
import { useSession } from '../session/session-context.ts';
import { Empty, Failure, Loading } from '../ui/states.tsx';

/** Lists users who see one vehicle, or any vehicle of the account, with what they may do. */
export function SharedUsers({ vehicleId }: { vehicleId?: number }) {
  const { t } = useTranslation('sharing');
  const { api } = useSession();
  const queries = useQueryClient();
  const format = useFormat();
  const users = useQuery({
    queryKey: ['listSharedUsers', vehicleId ?? 'all'],
    queryFn: () =>
      readAllPages(async (page) => {
        const query = { ...page, ...(vehicleId === undefined ? {} : { vehicle_id: vehicleId }) };
        return (await api.GET('/api/vehicle/get-shared-users', { params: { query } })).data?.data;
      }),
  });
  const remove = useMutation({
    mutationFn: (body: { secondary_user: number; vehicles: number[] }) =>
      api.POST('/api/vehicle/remove-share-vehicles', { body }),
    onSettled: () => queries.invalidateQueries({ queryKey: ['listSharedUsers'] }),
  });
  if (users.isPending) return <Loading />;
  if (users.isError) return <Failure error={users.error} onRetry={() => void users.refetch()} />;
  const shares = users.data.flatMap((user) => user.vehicles.map((share) => ({ user, share })));
  if (shares.length === 0) return <Empty title={t(vehicleId === undefined ? 'noUsersOfAny' : 'noUsers')} />;
  return (
    <>
      {remove.isError ? <Failure error={remove.error} /> : null}
      <div className="table-scroll">
        <table className="data" aria-label={t('users')}>
          <thead>
            <tr>
              <th>{t('user')}</th>
              <th>{t('vehicle')}</th>
              <th>{t('permissions')}</th>
              <th>{t('expires')}</th>
              <th>{t('actions')}</th>
            </tr>
          </thead>
          <tbody>
            {shares.map(({ user, share }) => (
              <tr key={share.id}>
                <td>
                  {user.name} {user.phone_number}
                </td>
                <td>
                  <Link to="/vehicles/$vehicleId" params={{ vehicleId: String(share.vehicle_id) }}>
                    {share.vehicle_no}
                  </Link>
                </td>
                <td>{share.permissions.map((name) => t(`permission.${name}`)).join(', ')}</td>
                <td>{share.expires_at === null ? t('never') : format.dateTime(Date.parse(share.expires_at))}</td>
                <td>
                  <Button
                    size="compact-sm"
                    variant="outline"
                    color="critical"
                    onClick={() => remove.mutate({ secondary_user: user.id, vehicles: [share.vehicle_id] })}
                  >
                    {t('stop')}
                  </Button>
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </>
  );
}
