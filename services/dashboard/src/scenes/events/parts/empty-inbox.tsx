import { Button, Text } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { Empty } from '../../../common/ui/states.tsx';
import { type EventsSearch, hasFilters } from '../search.ts';

interface EmptyInboxProps {
  readonly search: EventsSearch;
  readonly onChange: (search: EventsSearch) => void;
}

/** Says why the list is empty: everything is handled, or nothing matches the filters. */
export function EmptyInbox({ search, onChange }: EmptyInboxProps) {
  const { t } = useTranslation('events');
  const status = search.status === undefined ? {} : { status: search.status };
  if (hasFilters(search))
    return (
      <Empty title={t('noMatch')}>
        <Button size="xs" variant="default" onClick={() => onChange(status)}>
          {t('clearFilters')}
        </Button>
      </Empty>
    );
  if (search.status !== undefined) return <Empty title={t('empty')} />;
  return (
    <Empty title={t('allHandled')}>
      <Text c="dimmed" ta="center">
        {t('allHandledHint')}
      </Text>
      <Button size="xs" variant="default" onClick={() => onChange({ status: 'all' })}>
        {t('showAll')}
      </Button>
    </Empty>
  );
}
