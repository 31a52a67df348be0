import { ApiFailure } from '@fleet/api-client';
import { Button, Group } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import type { NamedGroup } from '../../../common/fleet/folder-tree.ts';
import type { Vehicle } from '../../../common/fleet/vehicle.ts';
import { Empty, Failure, Loading } from '../../../common/ui/states.tsx';
import { useGroup } from '../queries.ts';
import type { Moves } from '../use-moves.ts';
import { DeleteGroup } from './delete-group.tsx';
import { GroupRecord } from './group-record.tsx';
import { GroupVehicles } from './group-vehicles.tsx';

interface GroupPanelProps {
  readonly id: number;
  readonly groups: readonly NamedGroup[];
  readonly vehicles: readonly Vehicle[];
  readonly moves: Moves;
  readonly onClose: () => void;
}

/** Shows one group: its vehicles and its record. */
export function GroupPanel({ id, groups, vehicles, moves, onClose }: GroupPanelProps) {
  const { t } = useTranslation('groups');
  const group = useGroup(id);
  const back = (
    <Button variant="default" size="xs" onClick={onClose}>
      {t('back')}
    </Button>
  );
  if (group.isPending) return <Loading />;
  if (group.isError) {
    if (group.error instanceof ApiFailure && group.error.status === 404)
      return <Empty title={t('missing')}>{back}</Empty>;
    return <Failure error={group.error} onRetry={() => void group.refetch()} />;
  }
  const memberIds = new Set(groups.find((each) => each.id === id)?.vehicleIds);
  const hasGroupsBelow = groups.some(({ parentId }) => parentId === id);
  return (
    <>
      <Group justify="space-between" wrap="nowrap">
        <h2>{group.data.name}</h2>
        <Group gap="sm" wrap="nowrap">
          {back}
          <DeleteGroup group={group.data} hasGroupsBelow={hasGroupsBelow} onDeleted={onClose} />
        </Group>
      </Group>
      <GroupVehicles
        groupId={id}
        vehicles={vehicles.filter((vehicle) => memberIds.has(vehicle.id))}
        all={vehicles}
        groups={groups}
        moves={moves}
      />
      <GroupRecord group={group.data} groups={groups} />
    </>
  );
}
